#pragma once

// ReLU has a header because other layers recognise one behind them and take over its work (Layer::absorb).

#include "layers/layer.h"

namespace cortado {

class ReluLayer : public Layer {
 public:
  explicit ReluLayer(const LayerOptions& options);

  float negative_slope() const { return negative_slope_; }

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayoutRule layouts() const override { return LayoutRule::kFollow; }
  TypeRule types() const override { return TypeRule::kFollow; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;

 private:
  bool backward_from_y() const { return negative_slope_ >= 0; }

  float negative_slope_;
};

}  // namespace cortado
