// BatchNorm: y = (x - mean) / sqrt(variance + eps) for each channel (axis 1).
//
// In training mean and variance are the batch's, and three weights that no solver touches keep a running average as
// Caffe does: sums of means and of unbiased variances, m / (m - 1) of the batch's, and the factor to divide both by,
// each becoming moving_average_fraction of its old value plus the new one, whose factor is 1. In testing, or with
// use_global_stats, the average is used instead; a factor of 0 means that there is none yet and gives mean 0,
// variance 0. It takes over a Scale, the sum with another tensor (the join of a residual net) and a ReLU or ReLU6
// behind it: one pass over memory forward, two backward. NVIDIA's scale_bias and Intel's use_weight_bias give it
// factors and terms of its own, as if a Scale followed. A layer with NVIDIA's options also keeps its averages as NVIDIA
// does: of variances that are not unbiased, the batch's own at first, with a factor of 1; there use_global_stats:
// false, its default, means nothing in testing, and eps is at least 1e-5.

#include <algorithm>

#include "core/error.h"
#include "core/for_each.h"
#include "kernels/batch_norm.h"
#include "layers/common/filler.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"
#include "proto/batch_norm_form.h"

namespace cortado {

namespace {

constexpr size_t kGamma = 3, kBeta = 4;  ///< the weights behind BatchNorm's own three

/// Means and variances, and the sums of them that make the running average.
struct Statistics {
  float *mean, *variance;
  float *means, *variances, *factor;
};

struct TakeAverage {
  Statistics s;
  CORTADO_HD void operator()(int64_t c) const {
    const float scale = kernels::average_scale(*s.factor);
    s.mean[c] = s.means[c] * scale;
    s.variance[c] = s.variances[c] * scale;
  }
};

/// For each channel, and once more for the factor, behind the last.
struct AddToAverage {
  Statistics s;
  int64_t channels;
  float kept, unbiased;  ///< the old average's share, and m / (m - 1)
  CORTADO_HD void operator()(int64_t c) const {
    if (c == channels) {
      *s.factor = kept * *s.factor + 1;
      return;
    }
    s.means[c] = kept * s.means[c] + s.mean[c];
    s.variances[c] = kept * s.variances[c] + unbiased * s.variance[c];
  }
};

/// NVIDIA's: sums of whatever factor become averages and stay so.
struct MoveAverage {
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

class BatchNormLayer : public Layer {
 public:
  explicit BatchNormLayer(const LayerOptions& options)
      : options_(options.config.batch_norm_param()),
        form_(form_of(options_)),
        eps_(form_.nvidia ? std::max(options_.eps(), 1e-5f) : options_.eps()),
        given_statistics_(options_.has_use_global_stats() && (options_.use_global_stats() || !form_.nvidia)
                              ? options_.use_global_stats()
                              : options.phase == caffe::TEST),
        post_(with_own({})) {
    if (!(options_.eps() >= 0))
      throw FieldError("batch_norm_param.eps", "eps must not be negative", "it keeps the divisor above 0");
    const float fraction = options_.moving_average_fraction();
    if (!(fraction >= 0 && fraction <= 1))
      throw FieldError("batch_norm_param.moving_average_fraction", "the fraction must lie in [0, 1]",
                       "it is the share of the old average that is kept");
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

  /// One Scale, where it has no factors of its own.
  bool accepts(const kernels::PostOps& post, NetMode) const override {
    if (options_.relu() || !post.activation.gates()) return false;
    if (post.affine.empty()) return true;
    return post.affine.size() == 1 && !form_.scales && post.affine[0].scales && !post.affine[0].normalises;
  }

  /// By running averages, without a ReLU, it is a factor and a term for each channel.
  std::optional<kernels::PostOp> as_post_op() const override {
    if (!given_statistics_ || options_.relu()) return std::nullopt;
    return kernels::ChannelAffine{.normalises = true, .scales = form_.scales, .shifts = form_.shifts, .eps = eps_};
  }

  LayoutRule layouts() const override { return LayoutRule::kFollow; }
  TypeRule types() const override { return TypeRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    kernels::BatchNormRequest norm{.x = request.x[0]};
    if (norm.x.shape.axes() == 1) norm.x.shape = {norm.x.shape[0], 1};
    norm.eps = eps_;
    norm.given_statistics = given_statistics_;
    norm.post = post_ = with_own(request.post);
    norm.backward = request.backward;
    norm_ = kernels::plan_batch_norm(norm, context);
    const int64_t statistics = 2 * channels_of(request.x[0].shape) * int64_t(sizeof(float));
    LayerNeeds needs;
    needs.backward_reads_x = {true, false};
    needs.backward_reads_x.resize(request.x.size());
    needs.aliasing.y_may_overwrite_x = post_.sum || !request.backward;
    needs.aliasing.overwritten_x = post_.sum && request.backward ? 1 : 0;
    needs.aliasing.dx_may_overwrite_dy = needs.aliasing.last_dx_overwrites = true;
    needs.saved = {statistics};
    if (request.backward) {
      needs.last_saved_for_y = norm_->mask_bytes() > 0;
      if (needs.last_saved_for_y) needs.saved.push_back(norm_->mask_bytes());
      norm.given_statistics = true;
      norm.backward = false;
      again_ = kernels::plan_batch_norm(norm, context);
      needs.can_recompute_y = true;
      needs.recompute_scratch = again_->forward_scratch();
    }
    needs.forward_scratch = norm_->forward_scratch();
    needs.backward_scratch = norm_->backward_scratch();
    needs.algorithm = norm_->name();
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    if (given_statistics_) for_each(context, channels_of(io.x[0].shape()), TakeAverage{statistics(io)});
    kernels::BatchNormOperands call = operands(io);
    call.y = io.y[0].data;
    if (io.saved.size() > 1) call.mask = io.saved[1];
    norm_->forward(context, call);
    if (!given_statistics_ && io.x[0].count() > 0) add_to_average(context, io);
  }

  /// With the statistics that forward saved, whoever made them.
  void recompute(Context& context, const Operands& io) override {
    kernels::BatchNormOperands call = operands(io);
    call.y = io.y[0].data;
    again_->forward(context, call);
  }

  void backward(Context& context, const Operands& io) override {
    kernels::BatchNormOperands call = operands(io);
    call.dy = io.dy[0].data;
    call.dx = io.dx[0].data;
    if (io.saved.size() > 1) call.mask = io.saved[1];
    call.y = io.y[0].data;
    if (post_.sum) call.daddend = io.dx[1].data;
    if (scales()) {
      call.dgamma = io.dw[kGamma].f32();
      call.add_dgamma = io.adds(kGamma);
    }
    if (shifts()) {
      call.dbeta = io.dw[kBeta].f32();
      call.add_dbeta = io.adds(kBeta);
    }
    norm_->backward(context, call);
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override {
    return x[0].count() * ((given_statistics_ ? 2 : 5) + (scales() ? 2 : 0) + post_.sum + bool(post_.activation));
  }

 private:
  static int64_t channels_of(const Shape& x) { return x.axes() > 1 ? x[1] : 1; }

  /// Its own factors, terms and ReLU, and what it has taken over.
  kernels::PostOps with_own(kernels::PostOps post) const {
    if (form_.scales) post.affine = {{.scales = true, .shifts = form_.shifts}};
    if (options_.relu()) post.activation = kernels::Activation::relu();
    return post;
  }
  bool scales() const { return !post_.affine.empty(); }
  bool shifts() const { return scales() && post_.affine[0].shifts; }

  float* mean(const Operands& io) const { return static_cast<float*>(io.saved[0]); }
  float* variance(const Operands& io) const { return mean(io) + channels_of(io.x[0].shape()); }

  kernels::BatchNormOperands operands(const Operands& io) const {
    kernels::BatchNormOperands call;
    call.x = io.x[0].data;
    if (post_.sum) call.addend = io.x[1].data;
    call.mean = mean(io);
    call.variance = variance(io);
    if (scales()) call.gamma = io.w[kGamma].f32();
    if (shifts()) call.beta = io.w[kBeta].f32();
    call.scratch = io.scratch;
    return call;
  }

  Statistics statistics(const Operands& io) const {
    return {mean(io), variance(io), io.w[0].f32(), io.w[1].f32(), io.w[2].f32()};
  }

  void add_to_average(Context& context, const Operands& io) const {
    const int64_t channels = channels_of(io.x[0].shape()), values = io.x[0].count() / channels;
    const float kept = options_.moving_average_fraction();
    if (form_.nvidia) {
      for_each(context, channels, MoveAverage{statistics(io), kept});
      return for_each(context, 1, SetOne{io.w[2].f32()});
    }
    const float unbiased = values > 1 ? float(double(values) / double(values - 1)) : 1;
    for_each(context, channels + 1, AddToAverage{statistics(io), channels, kept, unbiased});
  }

  const caffe::BatchNormParameter& options_;
  const BatchNormForm form_;
  const float eps_;
  bool given_statistics_;  ///< the running average; else the batch's own
  kernels::PostOps post_;  ///< with at most one affine step, its weights the fourth and the fifth; adds x[1]
  std::unique_ptr<kernels::BatchNorm> norm_;
  std::unique_ptr<kernels::BatchNorm> again_;  ///< the same with given statistics, for recompute()
};

const RegisterLayer registered({
    .name = "BatchNorm",
    .help = "each channel with mean 0 and variance 1; keeps running averages for testing",
    .options = "batch_norm_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<BatchNormLayer>,
});

}  // namespace

}  // namespace cortado
