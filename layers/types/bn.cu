// BN: batch normalisation with a factor and a term for each channel (axis 1) in one layer,
//     y = (x - mean) / sqrt(variance + eps) factor + term.
// Several forks call it so; their fields tell them apart (proto/upgrade/bn_form.h). All blobs are 1 x C x 1 x 1.
//
// yjxiong's, which ICNet and others have, and PSPNet's: factors (slope_filler or scale_filler), terms (bias_filler or
// shift_filler), running mean, running variance. In training mean and (biased) variance are the batch's, and running =
// momentum running + (1 - momentum) batch. In testing they are the running ones, and with `frozen` in training, too.
// The running ones start as 0 and 1. var_eps and decay are other names of eps and momentum. A bn_param without a field
// that tells is this one. With moving_average: false
// there are no running ones: the two blobs are factors and terms, and tests take their batch's statistics as well.
//
// SegNet's, which ENet has: scale and shift. LEARN takes the batch's statistics in testing, too, with an eps of 1e-9
// unless one is given; nothing is kept. INFERENCE is y = scale x + shift: SegNet's scripts compute the statistics once
// and fold them into both. Its further tops, mean and variance of the batch, are not available.

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

constexpr size_t kMean = 2, kVariance = 3;  ///< the weights behind factors and terms

struct BnCopy {
  const float *mean, *variance;
  float *to_mean, *to_variance;
  CORTADO_HD void operator()(int64_t c) const { to_mean[c] = mean[c], to_variance[c] = variance[c]; }
};

/// What leaves x as it is.
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
      : BatchNormalising(norm_of(options)), options_(options.config.bn_param()), kind_(form_of(options_)) {
    if (!(form_.eps >= 0)) throw FieldError(eps_field(), "eps must not be negative", "it keeps the divisor above 0");
    if (!(momentum() >= 0 && momentum() <= 1))
      throw FieldError(momentum_field(), "momentum must lie in [0, 1]",
                       "it is the share of the running statistics that stays");
    check_family();
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 2);
    const Shape channels = {1, channels_of(x[0]), 1, 1};
    caffe::FillerParameter one;
    one.set_value(1);
    LayerShapes shapes{.y = {x[0]}, .w = {}};
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

  /// A factor and a term for each channel, where nothing of them is the batch's.
  std::optional<kernels::PostOp> as_post_op() const override {
    if (!form_.given_statistics) return std::nullopt;
    const bool running = kind_ == BnForm::kRunning;
    return kernels::ChannelAffine{
        .normalises = running, .scales = true, .shifts = true, .ends_with_mean = running, .eps = form_.eps};
  }
  LayerRoles roles() override { return {.memory = this}; }

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
    switch (form_of(bn)) {
      case BnForm::kRunning:
        form.given_statistics = bn.frozen() || options.phase == caffe::TEST;
        break;
      case BnForm::kBatch:
        if (is_segnets(bn) && !bn.has_eps() && !bn.has_var_eps()) form.eps = 1e-9f;
        break;
      case BnForm::kStored:
        form.given_statistics = true;
        form.eps = 0;
        break;
    }
    return form;
  }

  float momentum() const { return options_.has_decay() ? options_.decay() : options_.momentum(); }
  std::string eps_field() const { return options_.has_var_eps() ? "bn_param.var_eps" : "bn_param.eps"; }
  std::string momentum_field() const { return options_.has_decay() ? "bn_param.decay" : "bn_param.momentum"; }

  /// Fields that contradict each other, or have no effect.
  void check_family() const {
    const auto refuse = [](bool has, const std::string& field, const std::string& why) {
      if (has)
        throw FieldError("bn_param." + field, why,
                         "bn_mode is SegNet's, whose BN has two blobs; frozen, momentum and moving_average are of the "
                         "one that has running statistics as well");
    };
    const bool keeps_none = kind_ != BnForm::kRunning;
    refuse(options_.has_slope_filler() && options_.has_scale_filler(), "slope_filler", "scale_filler is there as well");
    refuse(options_.has_bias_filler() && options_.has_shift_filler(), "bias_filler", "shift_filler is there as well");
    refuse(options_.has_eps() && options_.has_var_eps(), "eps", "var_eps is there as well");
    refuse(options_.has_momentum() && options_.has_decay(), "momentum", "decay is there as well");
    refuse(keeps_none && options_.has_frozen(), "frozen", "frozen has no effect: there are no running statistics here");
    refuse(keeps_none && (options_.has_momentum() || options_.has_decay()), options_.has_decay() ? "decay" : "momentum",
           "momentum has no effect: there are no running statistics here");
    refuse(options_.has_bn_mode() && options_.has_moving_average(), "moving_average",
           "moving_average contradicts bn_mode: there are no running statistics here");
    refuse(kind_ == BnForm::kStored && (options_.has_eps() || options_.has_var_eps()),
           options_.has_var_eps() ? "var_eps" : "eps",
           "eps has no effect: with bn_mode: INFERENCE nothing is normalised");
  }

  const caffe::BNParameter& options_;
  const BnForm kind_;
};

void hold_statistics(caffe::LayerParameter& layer) {
  if (form_of(layer.bn_param()) == BnForm::kRunning) layer.mutable_bn_param()->set_frozen(true);
}

const char* advice_on_bn_blobs(size_t blobs) {
  if (blobs == 2)
    return "a BN of two blobs is SegNet's, or has no running statistics: write bn_param { bn_mode: LEARN }, INFERENCE "
           "where they were folded into it, or moving_average: false";
  return blobs == 4 ? "a BN of four blobs has running statistics: write bn_param without bn_mode" : "";
}

/// SyncBN is a BN with the statistics of an iteration's whole batch, also where several devices share it. Here one
/// device has the batch, and SyncBN is BN; shards of a batch, which would have statistics of their own, are refused.
LayerType bn_type(const char* name, const char* help, bool whole_batch) {
  return {
      .name = name,
      .help = help,
      .options = "bn_param",
      .min_bottoms = 1,
      .max_bottoms = 1,
      .min_tops = 1,
      .max_tops = 1,
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

const RegisterLayer register_bn(bn_type(
    "BN", "each channel with mean 0 and variance 1, then times a factor plus a term; SegNet's and PSPNet's", false)),
    register_sync_bn(bn_type("SyncBN", "BN over the whole batch of an iteration, so not in shards", true));

}  // namespace

}  // namespace cortado
