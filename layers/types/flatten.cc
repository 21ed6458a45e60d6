// Flatten: merges the axes from flatten_param.axis to end_axis. Storage is row-major, so the memory does not change.

#include "core/error.h"
#include "layers/common/shape_rules.h"
#include "layers/common/view_layer.h"
#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado {

namespace {

class FlattenLayer : public ViewLayer {
 public:
  explicit FlattenLayer(const LayerOptions& options) : param_(options.config.flatten_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    const int first = axis_of(x[0], param_.axis(), "flatten_param.axis");
    const int last = axis_of(x[0], param_.end_axis(), "flatten_param.end_axis");
    if (first > last)
      throw FieldError("flatten_param.end_axis", "axis " + std::to_string(first) + " is after end_axis " +
                                                     std::to_string(last) + " of bottom[0], whose shape is " +
                                                     x[0].str());
    const std::vector<int64_t>& dims = x[0].dims();
    std::vector<int64_t> flat(dims.begin(), dims.begin() + first);
    flat.push_back(x[0].count(first, last + 1));
    flat.insert(flat.end(), dims.begin() + last + 1, dims.end());
    return {.y = {Shape(flat)}, .w = {}};
  }

 private:
  const caffe::FlattenParameter& param_;
};

const RegisterLayer register_flatten({
    .name = type_names::kFlatten,
    .help = "merges several axes into one",
    .options = "flatten_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<FlattenLayer>,
});

}  // namespace

}  // namespace cortado
