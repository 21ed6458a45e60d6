// PReLU: y = max(x, 0) + a[c] * min(x, 0), with a slope learned for each channel, or one for all (channel_shared).
//
// The slopes' gradient, da[c] = sum over dy * min(x, 0), is summed in two steps, within each channel of each sample and
// then over the samples: no division per element in any layout, the same bits for any number of threads.

#include "core/error.h"
#include "core/for_each.h"
#include "layers/filler.h"
#include "layers/registry.h"
#include "layers/shape_rules.h"

namespace cortado {

namespace {

struct Forward {
  const float* x;
  const float* slope;
  float* y;
  int64_t stride;  ///< from one channel's slope to the next: 0 when shared
  CORTADO_HD void operator()(int64_t i, int64_t c) const {
    const float v = x[i];
    y[i] = (v < 0 ? 0 : v) + slope[c * stride] * (v < 0 ? v : 0);
  }
};

struct Backward {
  const float* x;
  const float* slope;
  const float* dy;
  float* dx;
  int64_t stride;
  CORTADO_HD void operator()(int64_t i, int64_t c) const { dx[i] = dy[i] * (x[i] > 0 ? 1 : slope[c * stride]); }
};

/// Term i of row r, a row being one channel of one sample. Channels lie in groups of `lanes` (1, 16 or all) side by
/// side.
struct SlopeTerm {
  const float* x;
  const float* dy;
  int64_t inner, lanes;
  CORTADO_HD float operator()(int64_t r, int64_t i) const {
    const int64_t at = (r / lanes * inner + i) * lanes + r % lanes;
    return x[at] < 0 ? dy[at] * x[at] : 0;
  }
};

/// Term i of channel c among the rows' sums.
struct RowSum {
  const float* sums;
  int64_t rows_per_sample;
  CORTADO_HD float operator()(int64_t c, int64_t i) const { return sums[i * rows_per_sample + c]; }
};

int64_t lanes_of(const ChannelView& view) {
  if (view.layout == Layout::kBlocked16) return 16;
  return view.layout == Layout::kChannelsLast ? view.channels : 1;
}

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
    check_filler(filler_, slopes, "prelu_param.filler");
    return {.y = {x[0]}, .w = {{.shape = slopes, .filler = filler_}}};
  }

  LayoutRule layouts() const override { return fills_blocks_ ? LayoutRule::kFollow : LayoutRule::kPlain; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    const ChannelView view = channel_view(request.x[0]);
    LayerNeeds needs;
    needs.backward_reads_x = {true};
    needs.y_may_overwrite_x = !request.backward;
    needs.dx_may_overwrite_dy = true;
    if (request.backward && request.wants_dw[0])
      needs.backward_scratch = view.outer * view.channels * int64_t(sizeof(float));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each_channel(context, channel_view(io.x[0].spec),
                     Forward{io.x[0].f32(), io.w[0].f32(), io.y[0].f32(), stride()});
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dw[0]) sum_slope_gradient(context, io);  // first: dx may lie in dy's memory
    if (!io.dx[0]) return;
    for_each_channel(context, channel_view(io.x[0].spec),
                     Backward{io.x[0].f32(), io.w[0].f32(), io.dy[0].f32(), io.dx[0].f32(), stride()});
  }

 private:
  int64_t stride() const { return shared_ ? 0 : 1; }

  void sum_slope_gradient(Context& context, const Operands& io) const {
    const ChannelView view = channel_view(io.x[0].spec);
    const int64_t rows = view.outer * view.channels;
    float* sums = static_cast<float*>(io.scratch);
    reduce_rows(context, rows, view.inner, SlopeTerm{io.x[0].f32(), io.dy[0].f32(), view.inner, lanes_of(view)}, sums);
    if (shared_)
      reduce_rows(context, 1, rows, RowSum{sums, 1}, io.dw[0].f32(), io.adds(0));
    else
      reduce_rows(context, view.channels, view.outer, RowSum{sums, view.channels}, io.dw[0].f32(), io.adds(0));
  }

  bool shared_;
  caffe::FillerParameter filler_;
  bool fills_blocks_ = false;
};

const RegisterLayer registered({
    .name = "PReLU",
    .help = "max(x, 0), or a learned slope below 0",
    .options = "prelu_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_layer<PreluLayer>,
});

}  // namespace

}  // namespace cortado
