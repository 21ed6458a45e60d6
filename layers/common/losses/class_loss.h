#pragma once

// The base of losses that compare all predictions of an item with its class in bottom[1] and divide by the number of
// items N, the extent of axis 0. A label that is not a class is an error; on devices it makes the loss NaN. Caffe reads
// out of bounds.

#include "layers/common/losses/class_labels.h"
#include "layers/common/shape_rules.h"
#include "layers/layer.h"
#include "layers/roles.h"

namespace cortado {

class ClassLossLayer : public Layer, public ReadsClasses, public Scoring {
 public:
  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 1);
    items_ = x[0][0], classes_ = x[0].count(1);
    require_labels(x[0], x[1], items_);
    return {.y = {Shape()}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }

  LayerRoles roles() override { return {.scoring = this, .classes = this}; }
  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true, true};
    return needs;
  }

  void validate(Context& context, const Operands& io) override {
    validate_labels(context, io.x[1], {nullptr, classes_});
  }

  std::optional<ClassLabels> class_labels() const override { return ClassLabels{nullptr, classes_}; }
  bool differentiable(int i) const override { return i == 0; }
  Ratio quotient(size_t) const override { return {.fixed = double(items_)}; }

 protected:
  int64_t items() const { return items_; }
  int64_t classes() const { return classes_; }
  ClassLabels labels_of(const Operands& io) const { return {io.x[1].f32(), classes_}; }
  float scale() const { return items_ > 0 ? 1 / float(items_) : 0; }  ///< 1 / N

 private:
  int64_t items_ = 0, classes_ = 0;
};

}  // namespace cortado
