// Bias: y = x + b, where b (a weight, or the second bottom) has some extents of x and is broadcast over the others. dx
// = dy, db = sum of dy over the broadcast axes.

#include "layers/common/loops/copies.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/channel_sums.h"
#include "layers/common/weights/filler.h"
#include "layers/registry.h"

namespace cortado {

namespace {

template <typename T, typename B>
struct Plus {
  const T* x;
  T* y;
  const B* b;
  using Arrays = ByPacks<In<&Plus::x>, Out<&Plus::y>>;
  CORTADO_HD void operator()(int64_t i, int64_t c) const { y[i] = x[i] + b[c]; }
};

template <typename T>
using PlusWeight = Plus<T, float>;
template <typename T>
using PlusBottom = Plus<T, T>;

template <typename T>
struct BiasItself {
  const T* a;
  CORTADO_HD float operator()(int64_t i) const { return a[i]; }
};

class BiasLayer : public Layer {
 public:
  explicit BiasLayer(const LayerOptions& options) : options_(options.config.bias_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    learned_ = x.size() == 1;
    broadcast_ = broadcast_of(x, options_.axis(), options_.num_axes(), "bias_param");
    in_blocks_ = learned_ && fills_blocks(x[0]) && broadcast_.per_channel(x[0]);
    if (!learned_) return {.y = {x[0]}, .w = {}};
    return {.y = {x[0]}, .w = {filled_weight(options_.filler(), broadcast_.shape, "bias_param.filler")}};
  }

  std::optional<kernels::PostOp> as_post_op() const override {
    if (!learned_ || broadcast_.axis != 1 || broadcast_.shape.axes() != 1) return std::nullopt;
    return kernels::ChannelAffine{.shifts = true};
  }

  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = in_blocks_ ? LayoutRule::kFollow : LayoutRule::kPlain, .type = TypeRule::kFollow};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.aliasing.y_may_overwrite_x = true;
    needs.aliasing.dx_is_dy = learned_ && !request.observed;
    needs.aliasing.dx_may_overwrite_dy = true;
    needs.backward_scratch = channel_sums_scratch(view_of(request.x[0], broadcast_));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    ChannelView view = view_of(io.x[0].spec, broadcast_);
    if (view.inner == 1 && view.layout == Layout::kPlain)
      view.layout = Layout::kChannelsLast;  // the same, in long rows
    if (learned_)
      for_each_channel_typed<PlusWeight>(context, view, io.x[0], io.y[0], io.w[0].f32());
    else
      for_each_channel_typed<PlusBottom>(context, view, io.x[0], io.y[0], io.x[1]);
  }

  void backward(Context& context, const Operands& io) override {
    const ChannelSums db{io.scratch, learned_ ? io.dw[0] : io.dx[1], learned_ && io.adds(0)};
    if (db.out) sum_channels<BiasItself>(context, view_of(io.x[0].spec, broadcast_), db, io.dy[0]);
    if (io.dx[0] && io.dx[0].data != io.dy[0].data) copy_values(context, io.dy[0], io.dx[0]);
  }

 private:
  const caffe::BiasParameter& options_;
  bool learned_ = true, in_blocks_ = false;
  Broadcast broadcast_;
};

const RegisterLayer register_bias({
    .name = "Bias",
    .help = "adds a learned bias (or a second bottom), broadcast over the other axes",
    .options = "bias_param",
    .min_bottoms = 1,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<BiasLayer>,
    .family = LayerFamily::kNorm,
    .stacks = true,
});

}  // namespace

}  // namespace cortado
