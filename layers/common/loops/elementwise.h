#pragma once

// The base of layers that compute each element of y from the same element of x alone: shapes, storage, memory and the
// registration. The file of such a layer has its options, its function and its derivative. It declares what backward
// reads and whether f(0) = 0.

#include <string>

#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

enum class BackwardReads { kX, kY, kNeither };

class ElementwiseLayer : public Layer {
 public:
  /// What backward reads in addition to dy. If that is x, forward does not overwrite x.
  virtual BackwardReads backward_reads() const = 0;

  /// Whether f(0) = 0, with a finite slope there: then padding lanes of blocks stay zero. Other functions run in blocks
  /// only if those have no padding.
  virtual bool keeps_zero() const = 0;

  LayerShapes infer(const std::vector<Shape>& x) override {
    fills_blocks_ = fills_blocks(x[0]);
    return {.y = {x[0]}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = keeps_zero() || fills_blocks_ ? LayoutRule::kFollow : LayoutRule::kPlain,
            .type = TypeRule::kFollow};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {backward_reads() == BackwardReads::kX};
    needs.backward_reads_y = {backward_reads() == BackwardReads::kY};
    needs.aliasing.y_may_overwrite_x = backward_reads() != BackwardReads::kX || !request.backward;
    needs.aliasing.dx_may_overwrite_dy = true;
    needs.can_recompute_y = backward_reads() == BackwardReads::kX;  // x is available in backward anyway
    return needs;
  }

 private:
  bool fills_blocks_ = false;
};

/// The registration of such a layer: one bottom, one top.
template <typename L>
LayerType elementwise_type(const std::string& name, const std::string& help, const std::string& options = "",
                           LayerFamily family = LayerFamily::kActivation) {
  return {.name = name,
          .help = help,
          .options = options,
          .min_bottoms = 1,
          .max_bottoms = 1,
          .min_tops = 1,
          .max_tops = 1,
          .make = make_layer<L>,
          .family = family,
          .stacks = true};
}

}  // namespace cortado
