// LayerNorm: n = (x - mean) / sqrt(variance + eps), mean and variance being those of all elements from `axis` on, and
// y = n g + b with a learned scale and bias for each of these elements; without `affine` y = n.
//   h = dy g
//   dx = (h - mean(h) - n mean(h n)) / sqrt(variance + eps),   dg = sum of dy n,   db = sum of dy
// Backward recomputes n from x, so only two numbers per row are stored.

#include <algorithm>

#include "layers/common/loops/row_moments.h"
#include "layers/common/needs.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/affine_weights.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// The rows, their statistics, scale and bias; null g and b mean 1 and 0.
struct Rows {
  const float *mean, *factor, *g, *b;
  int64_t width;

  CORTADO_HD float normal(float x, int64_t k) const { return (x - mean[k]) * factor[k]; }
  CORTADO_HD float gain(int64_t i, int64_t k) const { return g ? g[i - k * width] : 1; }
};

template <typename T>
struct LayerNormForward {
  const T* x;
  T* y;
  Rows rows;
  CORTADO_HD void operator()(int64_t i, int64_t k) const {
    y[i] = rows.normal(x[i], k) * rows.gain(i, k) + (rows.b ? rows.b[i - k * rows.width] : 0);
  }
};

/// Part of the sum of h.
template <typename T>
struct MeanOfH {
  const T* dy;
  Rows rows;
  float share;
  CORTADO_HD float operator()(int64_t k, int64_t i) const {
    return share * dy[k * rows.width + i] * rows.gain(k * rows.width + i, k);
  }
};

/// Part of the sum of h n.
template <typename T>
struct MeanOfHn {
  const T *x, *dy;
  Rows rows;
  float share;
  CORTADO_HD float operator()(int64_t k, int64_t i) const {
    const int64_t at = k * rows.width + i;
    return share * dy[at] * rows.gain(at, k) * rows.normal(x[at], k);
  }
};

template <typename T>
struct LayerNormBackward {
  const T *x, *dy;
  T* dx;
  Rows rows;
  const float *mean_h, *mean_hn;
  CORTADO_HD void operator()(int64_t i, int64_t k) const {
    dx[i] = (dy[i] * rows.gain(i, k) - mean_h[k] - rows.normal(x[i], k) * mean_hn[k]) * rows.factor[k];
  }
};

/// The contribution of row k to the gradient of scale i.
template <typename T>
struct FactorTerm {
  const T *x, *dy;
  Rows rows;
  CORTADO_HD float operator()(int64_t k, int64_t i) const {
    const int64_t at = k * rows.width + i;
    return dy[at] * rows.normal(x[at], k);
  }
};

class LayerNormLayer : public Layer {
 public:
  explicit LayerNormLayer(const LayerOptions& options)
      : options_(norm_options(options.config.layer_norm_param(), "layer_norm_param")),
        axis_option_(options.config.layer_norm_param().axis()) {
    check_norm(options_);
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    const int axis = axis_of(x[0], axis_option_, "layer_norm_param.axis");
    rows_ = x[0].count(0, axis);
    width_ = x[0].count(axis);
    LayerShapes shapes{.y = {x[0]}, .w = {}};
    const Shape normalized(std::vector<int64_t>(x[0].dims().begin() + axis, x[0].dims().end()));
    add_affine_weights(shapes, normalized, options_);
    return shapes;
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    const int64_t bytes = rows_ * int64_t(sizeof(float));
    LayerNeeds needs = needs_of_x(request);
    needs.saved = {bytes, bytes};
    needs.backward_scratch = std::max(2 * bytes, options_.affine ? sum_of_columns_scratch(rows_, width_) : 0);
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    row_moments(context, io.x[0], rows_, width_, options_.eps, saved(io, 0), saved(io, 1));
    for_each_channel_typed<LayerNormForward>(context, view(), io.x[0], io.y[0], rows(io));
  }

  void backward(Context& context, const Operands& io) override {
    // The weights first: dx may overwrite dy.
    if (options_.affine) weights_backward(context, io);
    if (!io.dx[0]) return;
    float *mean_h = static_cast<float*>(io.scratch), *mean_hn = mean_h + rows_;
    const float share = share_of_row(width_);
    sum_of_rows<MeanOfH>(context, rows_, width_, mean_h, io.dy[0], rows(io), share);
    sum_of_rows<MeanOfHn>(context, rows_, width_, mean_hn, io.x[0], io.dy[0], rows(io), share);
    for_each_channel_typed<LayerNormBackward>(context, view(), io.x[0], io.dy[0], io.dx[0], rows(io), mean_h, mean_hn);
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 8 * x[0].count(); }

 private:
  static float* saved(const Operands& io, size_t i) { return static_cast<float*>(io.saved[i]); }
  ChannelView view() const { return {1, rows_, width_, Layout::kPlain}; }
  Rows rows(const Operands& io) const {
    const bool affine = options_.affine;
    return {saved(io, 0), saved(io, 1), affine ? io.w[0].f32() : nullptr, affine ? io.w[1].f32() : nullptr, width_};
  }

  void weights_backward(Context& context, const Operands& io) const {
    float* scratch = static_cast<float*>(io.scratch);
    if (io.dw[0])
      sum_of_columns<FactorTerm>(context, rows_, width_, scratch, io.dw[0].f32(), io.adds(0), io.x[0], io.dy[0],
                                 rows(io));
    if (io.dw[1])
      sum_of_columns<RowValue>(context, rows_, width_, scratch, io.dw[1].f32(), io.adds(1), io.dy[0], width_, 1.0f);
  }

  NormOptions options_;
  int64_t axis_option_;
  int64_t rows_ = 0, width_ = 0;
};

const RegisterLayer register_layer_norm({
    .name = "LayerNorm",
    .help = "normalizes all elements from one axis on to mean 0 and variance 1, with a learned scale and bias",
    .options = "layer_norm_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<LayerNormLayer>,
    .family = LayerFamily::kNorm,
});

}  // namespace

}  // namespace cortado
