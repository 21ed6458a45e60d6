// BatchNorm: y = (x - mean) / sqrt(variance + eps) for each channel (axis 1).
//
// In training, mean and variance are the batch's, and three weights that solvers do not update keep a running average,
// as in Caffe: sums of means and of unbiased variances (m / (m - 1) times the batch's), and the factor by which both
// are divided. Each becomes moving_average_fraction of its old value plus the new one, whose factor is 1. In testing,
// or with use_global_stats, the average is used instead. A factor of 0 means that the average is empty; then mean and
// variance are 0.
//
// It fuses a following Scale, sum with another tensor (the end of a residual block) and ReLU or ReLU6: one pass over
// memory forward, two backward. NVIDIA's scale_bias and Intel's use_weight_bias add its own factors and terms, like a
// Scale after it. A layer with NVIDIA's options also keeps its averages as in NVIDIA's Caffe: of biased variances,
// initialized from the first batch, with a factor of 1. There use_global_stats: false, the default, has no effect in
// testing, and eps is at least 1e-5.

#include "core/error.h"
#include "core/loops/for_each.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/batch_normalising.h"
#include "layers/common/weights/filler.h"
#include "layers/common/weights/running_average.h"
#include "layers/registry.h"
#include "layers/roles.h"
#include "proto/weights/batch_norm_form.h"

namespace cortado {

namespace {

constexpr size_t kGamma = 3;  ///< index of the first weight after BatchNorm's own three

/// NVIDIA's: converts sums with any factor to averages.
struct BatchNormMoveAverage {
  Statistics s;
  float kept;
  CORTADO_HD void operator()(int64_t c) const {
    const float scale = kernels::average_scale(*s.factor), old = scale == 0 ? 0 : kept;
    s.means[c] = old * scale * s.means[c] + (1 - old) * s.mean[c];
    s.variances[c] = old * scale * s.variances[c] + (1 - old) * s.variance[c];
  }
};

struct SetOne {
  float* value;
  CORTADO_HD void operator()(int64_t) const { *value = 1; }
};

class BatchNormLayer : public BatchNormalising, public BatchMemory {
 public:
  explicit BatchNormLayer(const LayerOptions& options)
      : BatchNormalising(form_of_layer(options)), options_(options.config.batch_norm_param()) {
    if (!(options_.eps() >= 0))
      throw FieldError("batch_norm_param.eps", "eps must not be negative",
                       "set a small value, for example 1e-5: it keeps the divisor above 0");
    const float fraction = options_.moving_average_fraction();
    if (!(fraction >= 0 && fraction <= 1))
      throw FieldError("batch_norm_param.moving_average_fraction", "the fraction must lie in [0, 1]",
                       "set the weight of the old average");
    if (options_.stats_batch_size() > 0)
      throw FieldError("batch_norm_param.stats_batch_size", "statistics over parts of a batch are not available");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 1);
    const Shape channels = {channels_of(x[0])};
    LayerShapes shapes{.y = {x[0]}, .w = {}};
    for (const Shape& shape : {channels, channels, Shape{1}})
      shapes.w.push_back({.shape = shape, .filler = {}, .learned = false});
    if (form_.scales) {
      const bool intel = options_.has_filler();
      caffe::FillerParameter gamma = intel ? options_.filler() : options_.scale_filler();
      if (!intel && !options_.has_scale_filler()) gamma.set_value(1);
      check_filler(gamma, channels, intel ? "batch_norm_param.filler" : "batch_norm_param.scale_filler");
      shapes.w.push_back({.shape = channels, .filler = gamma});
    }
    if (form_.shifts) {
      check_filler(options_.bias_filler(), channels, "batch_norm_param.bias_filler");
      shapes.w.push_back({.shape = channels, .filler = options_.bias_filler()});
    }
    return shapes;
  }

  bool is_stateful() const override { return !form_.given_statistics; }

  /// With running averages and without a ReLU, it is a factor and a term for each channel.
  std::optional<kernels::PostOp> as_post_op() const override {
    if (!form_.given_statistics || form_.relu) return std::nullopt;
    return kernels::ChannelAffine{.normalises = true, .scales = form_.scales, .shifts = form_.shifts, .eps = form_.eps};
  }
  LayerRoles roles() override { return {.memory = this}; }

 protected:
  void give(Context& context, const Operands& io, const Moments& moments) override {
    for_each(context, channels_of(io.x[0].shape()), TakeAverage{statistics(io, moments)});
  }

  /// NVIDIA's average depends on its factor in every channel, and then changes the factor: two kernels.
  kernels::RunningAverage average(const Operands& io) const override {
    if (form_of(options_).nvidia) return {};
    const int64_t values = io.x[0].count() / channels_of(io.x[0].shape());
    return moving_sums(io.w[0].f32(), io.w[1].f32(), io.w[2].f32(), options_.moving_average_fraction(), values);
  }

  void keep(Context& context, const Operands& io, const Moments& moments) override {
    const int64_t channels = channels_of(io.x[0].shape());
    if (const kernels::RunningAverage sums = average(io))
      return for_each(context, channels, AddToAverage{sums, moments.mean, moments.variance});
    const Statistics s = statistics(io, moments);
    for_each(context, channels, BatchNormMoveAverage{s, options_.moving_average_fraction()});
    for_each(context, 1, SetOne{s.factor});
  }

 private:
  static Form form_of_layer(const LayerOptions& options) {
    const caffe::BatchNormParameter& param = options.config.batch_norm_param();
    const BatchNormForm form = form_of(param);
    const bool told = param.has_use_global_stats() && (param.use_global_stats() || !form.nvidia);
    return {.eps = form.eps,
            .given_statistics = told ? param.use_global_stats() : options.phase == caffe::TEST,
            .scales = form.scales,
            .shifts = form.shifts,
            .relu = param.relu(),
            .gamma = kGamma};
  }

  static Statistics statistics(const Operands& io, const Moments& moments) {
    return {moments.mean, moments.variance, io.w[0].f32(), io.w[1].f32(), io.w[2].f32()};
  }

  const caffe::BatchNormParameter& options_;
};

void hold_averages(caffe::LayerParameter& layer) { layer.mutable_batch_norm_param()->set_use_global_stats(true); }

const char* advice_on_blobs(size_t blobs) {
  return blobs > 3
             ? "the file's BatchNorm has a scale: add a Scale layer with a bias after it, or set batch_norm_param { "
               "scale_bias: true }"
             : "";
}

const RegisterLayer register_batch_norm({
    .name = "BatchNorm",
    .help = "batch normalization: each channel with mean 0 and variance 1, with running averages for testing",
    .options = "batch_norm_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<BatchNormLayer>,
    .family = LayerFamily::kNorm,
    .stacks = true,
    .hold_statistics = hold_averages,
    .fillers_choose_weights = true,
    .advice = advice_on_blobs,
});

}  // namespace

}  // namespace cortado
