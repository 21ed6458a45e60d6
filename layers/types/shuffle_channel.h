#pragma once

// ShuffleChannel has a header because Concat recognises one behind it and takes over its work (Layer::absorb).

#include "core/device_memory.h"
#include "layers/layer.h"

namespace cortado {

class ShuffleChannelLayer : public Layer {
 public:
  explicit ShuffleChannelLayer(const LayerOptions& options);

  int64_t group() const { return group_; }

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayoutRule layouts() const override { return LayoutRule::kFollow; }
  TypeRule types() const override { return TypeRule::kFollow; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;

 private:
  bool stays() const { return group_ == 1 || group_ == channels_ || channels_ == 0; }
  DeviceMemory distances(Context& context, const TensorSpec& spec, int64_t rows) const;
  void gather(Context& context, const DeviceMemory& table, const Tensor& from, const Tensor& to) const;

  int64_t group_, channels_ = 0;
  DeviceMemory there_, back_;  ///< for each channel the way to its source, in elements
};

}  // namespace cortado
