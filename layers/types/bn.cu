// BN: batch normalization with a factor and a term for each channel (axis 1) in one layer,
//     y = (x - mean) / sqrt(variance + eps) factor + term.
// Several forks have a layer of this name; their fields distinguish them (proto/upgrade/bn_form.h). All blobs are 1 x C
// x 1 x 1.
//
// yjxiong's fork (also in ICNet and others) and PSPNet's: factors (slope_filler or scale_filler), terms (bias_filler or
// shift_filler), running mean, running variance. In training mean and (biased) variance are the batch's, and running =
// momentum running + (1 - momentum) batch. In testing the running statistics are used, with `frozen` also in training.
// They start as 0 and 1. var_eps and decay are other names of eps and momentum. A bn_param without a distinguishing
// field selects this variant. With moving_average: false it has no running statistics: the two blobs are factors and
// terms, and tests use their batch's statistics, too.
//
// SegNet's fork (also in ENet): scale and shift. LEARN uses the batch's statistics also in testing, with a default eps
// of 1e-9, and keeps nothing. INFERENCE is y = scale x + shift: SegNet's scripts compute the statistics once and fold
// them into both. For these scripts LEARN may have two more tops: mean and (biased) variance of the batch, without eps,
// in training and testing. No gradient flows through them.

#include "core/device/device_memory.h"
#include "core/error.h"
#include "core/loops/for_each.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/batch_normalising.h"
#include "layers/common/weights/filler.h"
#include "layers/registry.h"
#include "layers/roles.h"
#include "proto/upgrade/bn_form.h"

namespace cortado {

namespace {

constexpr size_t kMean = 2, kVariance = 3;  ///< the weights after factors and terms

struct BnCopy {
  const float *mean, *variance;
  float *to_mean, *to_variance;
  CORTADO_HD void operator()(int64_t c) const { to_mean[c] = mean[c], to_variance[c] = variance[c]; }
};

/// The identity: mean 0, variance 1.
struct Neutral {
  float *mean, *variance;
  CORTADO_HD void operator()(int64_t c) const { mean[c] = 0, variance[c] = 1; }
};

struct BnMoveAverage {
  kernels::RunningAverage average;
  const float *mean, *variance;
  CORTADO_HD void operator()(int64_t c) const { average.add(c, mean[c], variance[c]); }
};

class BnLayer : public BatchNormalising, public BatchMemory {
 public:
  explicit BnLayer(const LayerOptions& options)
      : BatchNormalising(norm_of(options)),
        options_(options.config.bn_param()),
        kind_(form_of(options.config)),
        tops_(options.config.top_size()) {
    check_tops();
    if (!(form_.eps >= 0))
      throw FieldError(eps_field(), "eps must not be negative",
                       "set a small value, for example 1e-5: it keeps the divisor above 0");
    if (!(momentum() >= 0 && momentum() <= 1))
      throw FieldError(momentum_field(), "momentum must lie in [0, 1]", "set the weight of the old running statistics");
    check_family();
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 2);
    const Shape channels = {1, channels_of(x[0]), 1, 1};
    caffe::FillerParameter one;
    one.set_value(1);
    LayerShapes shapes{.y = {x[0]}, .w = {}};
    shapes.y.resize(size_t(tops_), channels);
    if (options_.has_scale_filler())
      shapes.w.push_back(filled_weight(options_.scale_filler(), channels, "bn_param.scale_filler"));
    else
      shapes.w.push_back(filled_weight(options_.has_slope_filler() ? options_.slope_filler() : one, channels,
                                       "bn_param.slope_filler"));
    if (options_.has_shift_filler())
      shapes.w.push_back(filled_weight(options_.shift_filler(), channels, "bn_param.shift_filler"));
    else
      shapes.w.push_back(filled_weight(options_.bias_filler(), channels, "bn_param.bias_filler"));
    if (kind_ != BnForm::kRunning) return shapes;
    shapes.w.push_back({.shape = channels, .filler = {}, .learned = false});
    shapes.w.push_back({.shape = channels, .filler = one, .learned = false});
    return shapes;
  }

  bool is_stateful() const override { return kind_ == BnForm::kRunning && !form_.given_statistics; }

  /// A factor and a term for each channel, if no statistics of the batch are involved.
  std::optional<kernels::PostOp> as_post_op() const override {
    if (!form_.given_statistics) return std::nullopt;
    const bool running = kind_ == BnForm::kRunning;
    return kernels::ChannelAffine{
        .normalises = running, .scales = true, .shifts = true, .ends_with_mean = running, .eps = form_.eps};
  }
  LayerRoles roles() override { return {.memory = this}; }

  // With the tops of statistics, nothing is fused: they are of this layer's x, and are plain floats.
  StorageRule storage(const kernels::PostOps& post) const override {
    return tops_ > 1 ? StorageRule{} : BatchNormalising::storage(post);
  }
  bool accepts(const kernels::PostOps& post, NetMode mode) const override {
    return tops_ == 1 && BatchNormalising::accepts(post, mode);
  }
  std::vector<Fusion> fusions(const FusionQuery& query) const override {
    return tops_ == 1 ? BatchNormalising::fusions(query) : std::vector<Fusion>();
  }
  void forward(Context& context, const Operands& io) override {
    BatchNormalising::forward(context, io);
    write_statistics(context, io);
  }
  void recompute(Context& context, const Operands& io) override {
    BatchNormalising::recompute(context, io);
    write_statistics(context, io);
  }
  /// Only a gradient of y[0] counts.
  void backward(Context& context, const Operands& io) override {
    if (io.dy[0].data) return BatchNormalising::backward(context, io);
    clear_on_device(context, io.dx[0].data, io.dx[0].data ? size_t(io.dx[0].spec.bytes()) : 0);
    for (size_t k = 0; k < io.dw.size(); ++k)
      if (io.dw[k].data && !io.adds(k)) clear_on_device(context, io.dw[k].data, size_t(io.dw[k].spec.bytes()));
  }

 protected:
  void give(Context& context, const Operands& io, const Moments& m) override {
    const int64_t channels = channels_of(io.x[0].shape());
    if (kind_ == BnForm::kStored) return for_each(context, channels, Neutral{m.mean, m.variance});
    for_each(context, channels, BnCopy{io.w[kMean].f32(), io.w[kVariance].f32(), m.mean, m.variance});
  }

  kernels::RunningAverage average(const Operands& io) const override {
    if (kind_ != BnForm::kRunning) return {};
    const float kept = momentum();
    return {.means = io.w[kMean].f32(),
            .variances = io.w[kVariance].f32(),
            .kept = kept,
            .mean_share = 1 - kept,
            .variance_share = 1 - kept};
  }

  void keep(Context& context, const Operands& io, const Moments& m) override {
    if (const kernels::RunningAverage running = average(io))
      for_each(context, channels_of(io.x[0].shape()), BnMoveAverage{running, m.mean, m.variance});
  }

 private:
  static Form norm_of(const LayerOptions& options) {
    const caffe::BNParameter& bn = options.config.bn_param();
    Form form{.eps = bn.has_var_eps() ? bn.var_eps() : bn.eps(), .scales = true, .shifts = true, .gamma = 0};
    switch (form_of(options.config)) {
      case BnForm::kRunning:
        form.given_statistics = bn.frozen() || options.phase == caffe::TEST;
        break;
      case BnForm::kBatch:
        if (is_segnets(options.config) && !bn.has_eps() && !bn.has_var_eps()) form.eps = 1e-9f;
        break;
      case BnForm::kStored:
        form.given_statistics = true;
        form.eps = 0;
        break;
    }
    return form;
  }

  void check_tops() const {
    if (tops_ == 1) return;
    if (tops_ == 2)
      throw FieldError("top[1]", "a BN has 1 or 3 tops: the batch's mean and variance come together",
                       "add a top for the variance, or remove that of the mean");
    if (kind_ != BnForm::kBatch)
      throw FieldError("top[1]", "only a BN that uses its batch's statistics has them as tops",
                       "set bn_param { bn_mode: LEARN }, which is SegNet's BN, or remove the tops");
  }

  void write_statistics(Context& context, const Operands& io) const {
    if (tops_ == 1) return;
    const Moments m = moments(io);
    const int64_t channels = channels_of(io.x[0].shape());
    if (io.x[0].count() == 0) return for_each(context, channels, Neutral{io.y[1].f32(), io.y[2].f32()});
    for_each(context, channels, BnCopy{m.mean, m.variance, io.y[1].f32(), io.y[2].f32()});
  }

  float momentum() const { return options_.has_decay() ? options_.decay() : options_.momentum(); }
  std::string eps_field() const { return options_.has_var_eps() ? "bn_param.var_eps" : "bn_param.eps"; }
  std::string momentum_field() const { return options_.has_decay() ? "bn_param.decay" : "bn_param.momentum"; }

  /// Fields that contradict each other, or have no effect.
  void check_family() const {
    const auto refuse = [](bool has, const std::string& field, const std::string& why) {
      if (has)
        throw FieldError(
            "bn_param." + field, why,
            "bn_mode is for SegNet's BN, with two blobs; frozen, momentum and moving_average are for the BN "
            "with running statistics");
    };
    const bool keeps_none = kind_ != BnForm::kRunning;
    refuse(options_.has_slope_filler() && options_.has_scale_filler(), "slope_filler", "scale_filler is set as well");
    refuse(options_.has_bias_filler() && options_.has_shift_filler(), "bias_filler", "shift_filler is set as well");
    refuse(options_.has_eps() && options_.has_var_eps(), "eps", "var_eps is set as well");
    refuse(options_.has_momentum() && options_.has_decay(), "momentum", "decay is set as well");
    refuse(keeps_none && options_.has_frozen(), "frozen",
           "frozen has no effect: the layer does not keep running statistics");
    refuse(keeps_none && (options_.has_momentum() || options_.has_decay()), options_.has_decay() ? "decay" : "momentum",
           "momentum has no effect: the layer does not keep running statistics");
    refuse(options_.has_bn_mode() && options_.has_moving_average(), "moving_average",
           "moving_average contradicts bn_mode: the layer does not keep running statistics");
    refuse(kind_ == BnForm::kStored && (options_.has_eps() || options_.has_var_eps()),
           options_.has_var_eps() ? "var_eps" : "eps", "eps has no effect: bn_mode: INFERENCE does not normalize");
  }

  const caffe::BNParameter& options_;
  const BnForm kind_;
  const int tops_;
};

void hold_statistics(caffe::LayerParameter& layer) {
  if (form_of(layer) == BnForm::kRunning) layer.mutable_bn_param()->set_frozen(true);
}

const char* advice_on_bn_blobs(size_t blobs) {
  if (blobs == 2)
    return "a BN with two blobs is SegNet's, or has no running statistics: set bn_param { bn_mode: LEARN }, INFERENCE "
           "if they were folded into it, or moving_average: false";
  return blobs == 4 ? "a BN with four blobs has running statistics: remove bn_mode from bn_param" : "";
}

/// SyncBN is a BN with the statistics of an iteration's whole batch, even if several devices share it. Here one device
/// has the batch, and SyncBN is BN. Shards of a batch would have separate statistics and are rejected.
LayerType bn_type(const char* name, const char* help, bool whole_batch) {
  return {
      .name = name,
      .help = help,
      .options = "bn_param",
      .min_bottoms = 1,
      .max_bottoms = 1,
      .min_tops = 1,
      .max_tops = 3,
      .make = make_layer<BnLayer>,
      .stacks = true,
      .alias_of = whole_batch ? "BN" : "",
      .needs_whole_batch = whole_batch,
      .hold_statistics = hold_statistics,
      .fillers_choose_weights = true,
      .any_axes_of_weights = true,
      .advice = advice_on_bn_blobs,
  };
}

const RegisterLayer register_bn(
    bn_type("BN", "batch normalization with a factor and a term for each channel, of SegNet and PSPNet", false)),
    register_sync_bn(bn_type("SyncBN", "BN over the whole batch of an iteration; not available in shards", true));

}  // namespace

}  // namespace cortado
