#pragma once

// ReLU is declared in a header because ReLU6 derives from it.

#include <cmath>

#include "layers/common/loops/elementwise.h"

namespace cortado {

class ReluLayer : public ElementwiseLayer {
 public:
  explicit ReluLayer(const LayerOptions& options, float ceiling = INFINITY);

  std::optional<kernels::PostOp> as_post_op() const override;

  /// With a slope >= 0, y has the sign of x.
  BackwardReads backward_reads() const override { return negative_slope_ >= 0 ? BackwardReads::kY : BackwardReads::kX; }
  bool keeps_zero() const override { return true; }

  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;

 private:
  float negative_slope_, ceiling_;
};

}  // namespace cortado
