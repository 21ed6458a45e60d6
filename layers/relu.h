#pragma once

// ReLU has a header because other layers recognise one behind them and take over its work (Layer::absorb), and because
// ReLU6 is one with a ceiling.

#include <cmath>

#include "layers/layer.h"

namespace cortado {

class ReluLayer : public Layer {
 public:
  explicit ReluLayer(const LayerOptions& options, float ceiling = INFINITY);

  bool leaks() const { return negative_slope_ != 0; }
  float ceiling() const { return ceiling_; }                          ///< y is at most this
  bool is_plain() const { return !leaks() && ceiling_ == INFINITY; }  ///< max(x, 0) and nothing more

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayoutRule layouts() const override { return LayoutRule::kFollow; }
  TypeRule types() const override { return TypeRule::kFollow; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;

 private:
  bool backward_from_y() const { return negative_slope_ >= 0; }

  float negative_slope_, ceiling_;
};

}  // namespace cortado
