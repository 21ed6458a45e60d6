#pragma once

// Scale has a header because BatchNorm recognises one behind it and takes over its work.

#include "layers/common/broadcast.h"
#include "layers/layer.h"

namespace cortado {

class ScaleLayer : public Layer {
 public:
  explicit ScaleLayer(const LayerOptions& options);

  /// Whether it multiplies each channel by a weight of its own, and perhaps adds another: what can be merged with
  /// others.
  bool learns_per_channel() const { return learned_ && broadcast_.axis == 1 && broadcast_.shape.axes() == 1; }
  bool has_bias() const { return options_.bias_term(); }

  LayerShapes infer(const std::vector<Shape>& x) override;
  std::optional<ChannelAffine> channel_affine() const override {
    if (!learns_per_channel()) return std::nullopt;
    return ChannelAffine{.scales = true, .shifts = has_bias()};
  }
  LayoutRule layouts() const override;
  TypeRule types() const override { return TypeRule::kFollow; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>& y) const override;

 private:
  /// to = from times the factors
  void multiply(Context& context, const Operands& io, const Tensor& from, const Tensor& to) const;

  const caffe::ScaleParameter& options_;
  caffe::FillerParameter filler_;
  bool learned_ = true;
  bool in_blocks_ = false;
  Broadcast broadcast_;
};

}  // namespace cortado
