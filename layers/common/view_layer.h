#pragma once

// A layer whose y is the memory of x in another shape: forward and backward do nothing. Derived classes define infer().

#include "layers/layer.h"

namespace cortado {

class ViewLayer : public Layer {
 public:
  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

  LayerRoles roles() override { return {.views_x = true}; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.aliasing.view = needs.aliasing.dx_is_dy = true;
    return needs;
  }

  void forward(Context&, const Operands&) override {}

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }
};

}  // namespace cortado
