// Concat: concatenates tensors along one axis (the channels, unless concat_param.axis is set). All other extents must
// be equal. Backward splits dy. A single bottom is passed on unchanged.

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/lanes.h"
#include "layers/common/loops/strips.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado {

namespace {

class ConcatLayer : public Layer {
 public:
  explicit ConcatLayer(const LayerOptions& options) : param_(options.config.concat_param()) {
    if (param_.has_axis() && param_.has_concat_dim())
      throw FieldError("concat_param.concat_dim", "axis and concat_dim are both set",
                       "remove concat_dim, the old name of axis");
  }

  LayerShapes infer(const std::vector<Shape>& x) override;
  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = whole_blocks_ ? LayoutRule::kFollow : LayoutRule::kPlain,
            .type = TypeRule::kFollow,
            .eight_bits = axis_ == 1 ? EightBitRule::kFollow : EightBitRule::kNone};
  }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;

  void forward(Context& context, const Operands& io) override {
    if (io.x.size() > 1) join_parts(context, io.x, io.y[0], axis_);
  }
  void backward(Context& context, const Operands& io) override {
    if (io.x.size() > 1) cut_parts(context, io.dy[0], io.dx, axis_);
  }

 private:
  const caffe::ConcatParameter& param_;
  int axis_ = 1;
  bool whole_blocks_ = false;
};

LayerShapes ConcatLayer::infer(const std::vector<Shape>& x) {
  axis_ = param_.has_concat_dim() ? axis_of(x[0], param_.concat_dim(), "concat_param.concat_dim")
                                  : axis_of(x[0], param_.axis(), "concat_param.axis");
  whole_blocks_ = whole_blocks(x, axis_);
  Shape y = x[0];
  for (size_t i = 1; i < x.size(); ++i) {
    Shape rest = x[i];
    if (rest.axes() == y.axes()) rest[axis_] = y[axis_];
    if (rest != y)
      throw FieldError(
          entry("bottom", int64_t(i)), "its shape " + x[i].str() + " does not match bottom[0]'s " + x[0].str(),
          "only the extents of axis " + std::to_string(axis_) + ", along which they are concatenated, may differ");
    y[axis_] += x[i][axis_];
  }
  return {.y = {y}, .w = {}};
}

LayerNeeds ConcatLayer::prepare(const PrepareRequest& request, Context&) {
  LayerNeeds needs;
  needs.aliasing.view = needs.aliasing.dx_is_dy = request.x.size() == 1;
  needs.can_recompute_y = !needs.aliasing.view;
  return needs;
}

const RegisterLayer register_concat({
    .name = type_names::kConcat,
    .help = "concatenates tensors along one axis",
    .options = "concat_param",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ConcatLayer>,
    .family = LayerFamily::kCombine,
});

}  // namespace

}  // namespace cortado
