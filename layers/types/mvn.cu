// MVN: y = (x - mean) / (deviation + eps), mean and deviation being those of one channel of one sample, or of a whole
// sample with across_channels. Without normalize_variance y = x - mean.
//
// As in Caffe, eps is added to the deviation, not to the variance. With s = deviation + eps
//   dx = (dy - mean(dy) - y mean(dy y) s / deviation) / s
// where Caffe omits s / deviation, which is about 1 with its default eps. Backward reads y, so forward may overwrite x.

#include <algorithm>
#include <cmath>

#include "layers/common/loops/row_moments.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

template <typename T>
struct MvnProduct {
  const T *a, *b;
  int64_t width;
  float scale;
  CORTADO_HD float operator()(int64_t k, int64_t i) const { return scale * a[k * width + i] * b[k * width + i]; }
};

/// Converts a variance to the factors of backward: 1 / (deviation + eps), and (deviation + eps) / deviation.
struct Factors {
  float *factor, *ratio;
  float eps;
  CORTADO_HD void operator()(int64_t k) const {
    const float deviation = sqrtf(factor[k]), sum = deviation + eps;
    factor[k] = 1 / sum;
    ratio[k] = deviation > 0 ? sum / deviation : 1;
  }
};

template <typename T>
struct Center {
  const T* from;
  T* to;
  const float* mean;
  CORTADO_HD void operator()(int64_t i, int64_t k) const { to[i] = from[i] - mean[k]; }
};

template <typename T>
struct MvnForward {
  const T* x;
  T* y;
  const float *mean, *factor;
  CORTADO_HD void operator()(int64_t i, int64_t k) const { y[i] = (x[i] - mean[k]) * factor[k]; }
};

template <typename T>
struct MvnBackward {
  const T *y, *dy;
  T* dx;
  const float *mean_dy, *mean_product, *factor, *ratio;
  CORTADO_HD void operator()(int64_t i, int64_t k) const {
    dx[i] = (dy[i] - mean_dy[k] - y[i] * mean_product[k] * ratio[k]) * factor[k];
  }
};

class MvnLayer : public Layer {
 public:
  explicit MvnLayer(const LayerOptions& options) : param_(options.config.mvn_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 1);
    const int axis = param_.across_channels() ? 1 : std::min(2, x[0].axes());
    rows_ = x[0].count(0, axis);
    width_ = x[0].count(axis);
    return {.y = {x[0]}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    const int64_t bytes = rows_ * int64_t(sizeof(float));
    LayerNeeds needs;
    needs.aliasing.y_may_overwrite_x = true;
    needs.aliasing.dx_may_overwrite_dy = true;
    needs.backward_reads_y = {param_.normalize_variance()};
    needs.forward_scratch = bytes;
    needs.backward_scratch = 2 * bytes;
    if (param_.normalize_variance()) needs.saved = {bytes, bytes};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    float* mean = static_cast<float*>(io.scratch);
    row_means(context, io.x[0], rows_, width_, mean);
    if (!param_.normalize_variance()) return for_each_channel_typed<Center>(context, rows(), io.x[0], io.y[0], mean);
    float *factor = static_cast<float*>(io.saved[0]), *ratio = static_cast<float*>(io.saved[1]);
    row_variances(context, io.x[0], rows_, width_, mean, factor);
    for_each(context, rows_, Factors{factor, ratio, param_.eps()});
    for_each_channel_typed<MvnForward>(context, rows(), io.x[0], io.y[0], mean, factor);
  }

  void backward(Context& context, const Operands& io) override {
    float *mean_dy = static_cast<float*>(io.scratch), *mean_product = mean_dy + rows_;
    row_means(context, io.dy[0], rows_, width_, mean_dy);
    if (!param_.normalize_variance())
      return for_each_channel_typed<Center>(context, rows(), io.dy[0], io.dx[0], mean_dy);
    const float *factor = static_cast<float*>(io.saved[0]), *ratio = static_cast<float*>(io.saved[1]);
    sum_of_rows<MvnProduct>(context, rows_, width_, mean_product, io.y[0], io.dy[0], width_, share_of_row(width_));
    for_each_channel_typed<MvnBackward>(context, rows(), io.y[0], io.dy[0], io.dx[0], mean_dy, mean_product, factor,
                                        ratio);
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 6 * x[0].count(); }

 private:
  ChannelView rows() const { return {1, rows_, width_, Layout::kPlain}; }

  const caffe::MVNParameter& param_;
  int64_t rows_ = 0, width_ = 0;
};

const RegisterLayer register_mvn({
    .name = "MVN",
    .help = "normalizes each channel, or each sample, to mean 0 and variance 1",
    .options = "mvn_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<MvnLayer>,
    .family = LayerFamily::kNorm,
});

}  // namespace

}  // namespace cortado
