#pragma once

// ReLU has a header because other layers recognise one behind them and take over its work (Layer::absorb), and because
// ReLU6 is one with a ceiling.

#include <cmath>

#include "layers/common/elementwise.h"

namespace cortado {

class ReluLayer : public ElementwiseLayer {
 public:
  explicit ReluLayer(const LayerOptions& options, float ceiling = INFINITY);

  bool leaks() const { return negative_slope_ != 0; }
  float ceiling() const { return ceiling_; }                          ///< y is at most this
  bool is_plain() const { return !leaks() && ceiling_ == INFINITY; }  ///< max(x, 0) and nothing more

  /// With a slope >= 0, y has the sign of x.
  BackwardReads backward_reads() const override { return negative_slope_ >= 0 ? BackwardReads::kY : BackwardReads::kX; }
  bool keeps_zero() const override { return true; }

  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;

 private:
  float negative_slope_, ceiling_;
};

}  // namespace cortado
