// Slice: splits a tensor along one axis (the channels, unless slice_param.axis is set), before each slice_point, or
// into equal parts if none is set. Backward concatenates the gradients of the parts; a part that is not read counts as
// zero.

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/lanes.h"
#include "layers/common/loops/strips.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class SliceLayer : public Layer {
 public:
  explicit SliceLayer(const LayerOptions& options)
      : param_(options.config.slice_param()), tops_(options.config.top_size()) {
    if (param_.has_axis() && param_.has_slice_dim())
      throw FieldError("slice_param.slice_dim", "axis and slice_dim are both set",
                       "remove slice_dim, the old name of axis");
    if (param_.slice_point_size() > 0 && param_.slice_point_size() != tops_ - 1)
      throw FieldError(
          miscounted("slice_param.slice_point", param_.slice_point_size(), tops_ - 1),
          count_of(param_.slice_point_size(), "slice_point", "slice_points") + " for " + count_of(tops_, "top", "tops"),
          "set one for each top except the first, or none for equal parts");
  }

  LayerShapes infer(const std::vector<Shape>& x) override;
  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = whole_blocks_ ? LayoutRule::kFollow : LayoutRule::kPlain, .type = TypeRule::kFollow};
  }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;

  void forward(Context& context, const Operands& io) override {
    if (tops_ > 1) cut_parts(context, io.x[0], io.y, axis_);
  }
  void backward(Context& context, const Operands& io) override {
    if (tops_ > 1) join_parts(context, io.dy, io.dx[0], axis_);
  }

 private:
  std::vector<int64_t> extents(int64_t whole) const;

  const caffe::SliceParameter& param_;
  int tops_;
  int axis_ = 1;
  bool whole_blocks_ = false;
};

/// The extent of each top along the axis.
std::vector<int64_t> SliceLayer::extents(int64_t whole) const {
  if (param_.slice_point_size() == 0) {
    if (whole % tops_ != 0)
      throw FieldError("slice_param",
                       "axis " + std::to_string(axis_) + " of extent " + std::to_string(whole) +
                           " cannot be split into " + count_of(tops_, "equal part", "equal parts"),
                       "set slice_point to the start of each top except the first");
    return std::vector<int64_t>(size_t(tops_), whole / tops_);
  }
  std::vector<int64_t> list;
  int64_t start = 0;
  for (int i = 0; i < tops_; ++i) {
    const int64_t end = i + 1 < tops_ ? int64_t(param_.slice_point(i)) : whole;
    if (end <= start || end > whole)
      throw FieldError(entry("slice_param.slice_point", std::min(i, tops_ - 2)),
                       "top[" + std::to_string(i) + "] would be from " + std::to_string(start) + " to " +
                           std::to_string(end) + " of axis " + std::to_string(axis_) + ", whose extent is " +
                           std::to_string(whole),
                       "slice_points must increase strictly, from above 0 to below " + std::to_string(whole));
    list.push_back(end - start);
    start = end;
  }
  return list;
}

LayerShapes SliceLayer::infer(const std::vector<Shape>& x) {
  axis_ = param_.has_slice_dim() ? axis_of(x[0], param_.slice_dim(), "slice_param.slice_dim")
                                 : axis_of(x[0], param_.axis(), "slice_param.axis");
  LayerShapes shapes;
  for (const int64_t extent : extents(x[0][axis_])) {
    shapes.y.push_back(x[0]);
    shapes.y.back()[axis_] = extent;
  }
  whole_blocks_ = whole_blocks(shapes.y, axis_);
  return shapes;
}

LayerNeeds SliceLayer::prepare(const PrepareRequest&, Context&) {
  LayerNeeds needs;
  needs.aliasing.view = needs.aliasing.dx_is_dy = tops_ == 1;
  return needs;
}

const RegisterLayer register_slice({
    .name = "Slice",
    .help = "splits a tensor along one axis",
    .options = "slice_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_layer<SliceLayer>,
    .family = LayerFamily::kCombine,
});

}  // namespace

}  // namespace cortado
