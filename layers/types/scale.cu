// Scale: y = x * g, or x * g + b, where g (a weight, or the second bottom) has some extents of x and is broadcast over
// the others. dx = dy * g, dg = sum of dy * x, db = sum of dy over the broadcast axes. b has g's shape. Without a
// filler g is initialized to 1, unlike Caffe's usual default of 0.

#include "layers/common/loops/broadcast.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/channel_sums.h"
#include "layers/common/weights/filler.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// y = x g, or x g + b; g is a weight, or a bottom of x's type.
template <typename T, typename G>
struct ScaleTimes {
  const T* x;
  T* y;
  const G* g;
  using Arrays = ByPacks<In<&ScaleTimes::x>, Out<&ScaleTimes::y>>;
  CORTADO_HD void operator()(int64_t i, int64_t c) const { y[i] = x[i] * g[c]; }
};

template <typename T, typename G>
struct TimesPlus {
  const T* x;
  T* y;
  const G* g;
  const float* b;
  using Arrays = ByPacks<In<&TimesPlus::x>, Out<&TimesPlus::y>>;
  CORTADO_HD void operator()(int64_t i, int64_t c) const { y[i] = x[i] * g[c] + b[c]; }
};

template <typename T>
using TimesWeight = ScaleTimes<T, float>;
template <typename T>
using TimesBottom = ScaleTimes<T, T>;
template <typename T>
using TimesWeightPlus = TimesPlus<T, float>;
template <typename T>
using TimesBottomPlus = TimesPlus<T, T>;

template <typename T>
struct ScaleProduct {
  const T *a, *b;
  CORTADO_HD float operator()(int64_t i) const { return a[i] * b[i]; }
};

template <typename T>
struct ScaleItself {
  const T* a;
  CORTADO_HD float operator()(int64_t i) const { return a[i]; }
};

class ScaleLayer : public Layer {
 public:
  explicit ScaleLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>& x) override;
  std::optional<kernels::PostOp> as_post_op() const override;
  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = in_blocks_ ? LayoutRule::kFollow : LayoutRule::kPlain, .type = TypeRule::kFollow};
  }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>& y) const override;

 private:
  bool has_bias() const { return options_.bias_term(); }
  /// to = from times the factors
  void multiply(Context& context, const Operands& io, const Tensor& from, const Tensor& to) const;

  const caffe::ScaleParameter& options_;
  caffe::FillerParameter filler_;
  bool learned_ = true;
  bool in_blocks_ = false;
  Broadcast broadcast_;
};

ScaleLayer::ScaleLayer(const LayerOptions& options)
    : options_(options.config.scale_param()), filler_(options_.filler()) {
  if (!options_.has_filler()) filler_.set_value(1);
}

LayerShapes ScaleLayer::infer(const std::vector<Shape>& x) {
  learned_ = x.size() == 1;
  broadcast_ = broadcast_of(x, options_.axis(), options_.num_axes(), "scale_param");
  in_blocks_ = learned_ && fills_blocks(x[0]) && broadcast_.per_channel(x[0]);
  LayerShapes shapes{.y = {x[0]}, .w = {}};
  if (learned_) shapes.w.push_back(filled_weight(filler_, broadcast_.shape, "scale_param.filler"));
  if (has_bias())
    shapes.w.push_back(filled_weight(options_.bias_filler(), broadcast_.shape, "scale_param.bias_filler"));
  return shapes;
}

/// If it multiplies each channel by its own weight, with an optional bias.
std::optional<kernels::PostOp> ScaleLayer::as_post_op() const {
  if (!learned_ || broadcast_.axis != 1 || broadcast_.shape.axes() != 1) return std::nullopt;
  return kernels::ChannelAffine{.scales = true, .shifts = has_bias()};
}

LayerNeeds ScaleLayer::prepare(const PrepareRequest& request, Context&) {
  const bool sums_products = learned_ ? request.wants_dw[0] : request.wants_dx[1];
  LayerNeeds needs;
  needs.backward_reads_x = {sums_products};
  if (!learned_) needs.backward_reads_x.push_back(request.wants_dx[0]);
  needs.aliasing.y_may_overwrite_x = !request.backward || !sums_products;
  needs.aliasing.dx_may_overwrite_dy = true;
  needs.backward_scratch = channel_sums_scratch(view_of(request.x[0], broadcast_));
  return needs;
}

void ScaleLayer::forward(Context& context, const Operands& io) {
  const ChannelView view = view_of(io.x[0].spec, broadcast_);
  if (!has_bias()) return multiply(context, io, io.x[0], io.y[0]);
  const float* b = io.w.back().f32();
  if (learned_)
    for_each_channel_typed<TimesWeightPlus>(context, view, io.x[0], io.y[0], io.w[0].f32(), b);
  else
    for_each_channel_typed<TimesBottomPlus>(context, view, io.x[0], io.y[0], io.x[1], b);
}

void ScaleLayer::multiply(Context& context, const Operands& io, const Tensor& from, const Tensor& to) const {
  const ChannelView view = view_of(io.x[0].spec, broadcast_);
  if (learned_)
    for_each_channel_typed<TimesWeight>(context, view, from, to, io.w[0].f32());
  else
    for_each_channel_typed<TimesBottom>(context, view, from, to, io.x[1]);
}

void ScaleLayer::backward(Context& context, const Operands& io) {
  const ChannelView view = view_of(io.x[0].spec, broadcast_);
  const ChannelSums dg{io.scratch, learned_ ? io.dw[0] : io.dx[1], learned_ && io.adds(0)};
  // Either dx may overwrite dy: dw first, and dx[1] before dx[0], which is in dy's memory if both are requested.
  const size_t b = io.w.size() - 1;
  if (has_bias() && io.dw[b])
    sum_channels<ScaleItself>(context, view, ChannelSums{io.scratch, io.dw[b], io.adds(b)}, io.dy[0]);
  if (dg.out) sum_channels<ScaleProduct>(context, view, dg, io.dy[0], io.x[0]);
  if (io.dx[0]) multiply(context, io, io.dy[0], io.dx[0]);
}

int64_t ScaleLayer::flops(const std::vector<Shape>& x, const std::vector<Shape>&) const {
  return (has_bias() ? 2 : 1) * x[0].count();
}

const RegisterLayer register_scale({
    .name = "Scale",
    .help = "multiplies by learned factors (or by a second bottom), with an optional bias",
    .options = "scale_param",
    .min_bottoms = 1,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ScaleLayer>,
    .family = LayerFamily::kNorm,
    .stacks = true,
});

}  // namespace

}  // namespace cortado
