#pragma once

// What layers share that change the scores of classes by the labels of their samples. Bottoms are scores N x C and
// labels; y has the shape of the scores, and may overwrite them.

#include "layers/common/losses/class_labels.h"
#include "layers/common/shape_rules.h"
#include "layers/layer.h"
#include "layers/roles.h"

namespace cortado {

class LabelledScoresLayer : public Layer, public ReadsClasses {
 public:
  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 2);
    classes_ = x[0].count(1);
    require_labels(x[0], x[1], x[0][0]);
    return {.y = {x[0]}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.layout = LayoutRule::kPlain}; }
  LayerRoles roles() override { return {.classes = this}; }
  std::optional<ClassLabels> class_labels() const override { return ClassLabels{nullptr, classes_}; }
  bool differentiable(int i) const override { return i == 0; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {false, true};
    needs.aliasing.y_may_overwrite_x = true;
    needs.aliasing.dx_may_overwrite_dy = true;
    return needs;
  }

  void validate(Context& context, const Operands& io) override {
    validate_labels(context, io.x[1], ClassLabels{nullptr, classes_}, 1, "bottom[0] needs a score of each class");
  }

 protected:
  int64_t classes_ = 1;
};

}  // namespace cortado
