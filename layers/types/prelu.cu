// PReLU: y = max(x, 0) + a[c] * min(x, 0), with a slope learned for each channel, or one for all (channel_shared).
// da[c] = sum over dy * min(x, 0).

#include "core/error.h"
#include "layers/common/needs.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/channel_sums.h"
#include "layers/common/weights/filler.h"
#include "layers/registry.h"

namespace cortado {

namespace {

template <typename T>
struct PreluForward {
  const T* x;
  T* y;
  const float* slope;
  int64_t stride;  ///< stride between the slopes of channels; 0 if shared
  using Arrays = ByPacks<In<&PreluForward::x>, Out<&PreluForward::y>>;
  CORTADO_HD void operator()(int64_t i, int64_t c) const {
    const float v = x[i];
    y[i] = (v < 0 ? 0 : v) + slope[c * stride] * (v < 0 ? v : 0);
  }
};

template <typename T>
struct PreluBackward {
  const T* x;
  const T* dy;
  T* dx;
  const float* slope;
  int64_t stride;
  using Arrays = ByPacks<In<&PreluBackward::x>, In<&PreluBackward::dy>, Out<&PreluBackward::dx>>;
  CORTADO_HD void operator()(int64_t i, int64_t c) const { dx[i] = dy[i] * (x[i] > 0 ? 1 : slope[c * stride]); }
};

/// The contribution of each element to its slope's gradient.
template <typename T>
struct SlopeTerm {
  const T* x;
  const T* dy;
  CORTADO_HD float operator()(int64_t i) const { return x[i] < 0 ? dy[i] * x[i] : 0; }
};

class PreluLayer : public Layer {
 public:
  explicit PreluLayer(const LayerOptions& options)
      : shared_(options.config.prelu_param().channel_shared()), filler_(options.config.prelu_param().filler()) {
    if (!options.config.prelu_param().has_filler()) filler_.set_value(0.25f);
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 2);
    fills_blocks_ = fills_blocks(x[0]);
    const Shape slopes = shared_ ? Shape() : Shape{x[0][1]};
    return {.y = {x[0]}, .w = {filled_weight(filler_, slopes, "prelu_param.filler")}};
  }

  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = fills_blocks_ ? LayoutRule::kFollow : LayoutRule::kPlain, .type = TypeRule::kFollow};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs = needs_of_x(request);
    if (request.backward && request.wants_dw[0])
      needs.backward_scratch = channel_sums_scratch(channel_view(request.x[0]));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each_channel_typed<PreluForward>(context, channel_view(io.x[0].spec), io.x[0], io.y[0], io.w[0].f32(),
                                         stride());
  }

  void backward(Context& context, const Operands& io) override {
    const ChannelView view = channel_view(io.x[0].spec);
    const ChannelSums dw{io.scratch, io.dw[0], io.adds(0)};
    // The sums first: dx may overwrite dy.
    if (dw.out && shared_) sum_all<SlopeTerm>(context, view, dw, io.x[0], io.dy[0]);
    if (dw.out && !shared_) sum_channels<SlopeTerm>(context, view, dw, io.x[0], io.dy[0]);
    if (io.dx[0])
      for_each_channel_typed<PreluBackward>(context, view, io.x[0], io.dy[0], io.dx[0], io.w[0].f32(), stride());
  }

 private:
  int64_t stride() const { return shared_ ? 0 : 1; }

  bool shared_;
  caffe::FillerParameter filler_;
  bool fills_blocks_ = false;
};

const RegisterLayer register_prelu({
    .name = "PReLU",
    .help = "max(x, 0), or a learned slope below 0",
    .options = "prelu_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<PreluLayer>,
    .family = LayerFamily::kActivation,
    .stacks = true,
});

}  // namespace

}  // namespace cortado
