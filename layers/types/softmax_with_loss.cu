// SoftmaxWithLoss: p = softmax(x), loss = -sum over classes of t log(max(p, FLT_MIN)) / normalizer, dx = (p sum t - t)
// dy / normalizer. For a hard label t is 1 for its class, else 0; soft labels, one for each score, are t.
// label_smoothing e changes t to (1 - e) t + e / classes. t is multiplied by the class_weight of its class and by the
// weight of its sample, from an optional third bottom.
//
// A second top is p, a third the loss of each sample (Cascade R-CNN).
//
// The minimum of p makes the loss of a dead net exactly 87.3365. With class weights the normalizer VALID is the sum of
// the labels' weights, so the loss is PyTorch's weighted mean. Sample weights, SegNet's class_weighting and the weights
// of WeightedSoftmaxWithLoss do not change the normalizer. For the rest see layers/common/losses/softmax_loss.h.

#include <cfloat>
#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/losses/class_weights.h"
#include "layers/common/losses/softmax_loss.h"
#include "layers/common/shape_rules.h"
#include "layers/common/windows/volume_options.h"
#include "layers/registry.h"
#include "layers/types/softmax_with_loss.h"

namespace cortado {

namespace {

CORTADO_HD inline float log_loss(float p) { return -logf(p < FLT_MIN ? FLT_MIN : p); }

/// The targets of the predictions.
struct SoftmaxWithLossTargets {
  SoftmaxRows rows;
  ClassLabels labels;                           ///< a class for each row, or
  bool soft;                                    ///< a value for each prediction
  float kept, spread;                           ///< 1 - e, and e / classes
  const float *class_weights, *sample_weights;  ///< null: 1
  bool counts_weights;                          ///< VALID is the sum of the labels' weights
  float* weights;                               ///< output of loss(): the sum of t for each row that counts

  CORTADO_HD bool counts(int64_t r) const { return soft || labels.counts(r); }
  CORTADO_HD bool valid(int64_t r) const { return soft || labels.valid(r); }
  CORTADO_HD float count(int64_t r) const {
    return counts_weights && !soft && valid(r) ? class_weights[int64_t(labels.values[r])] : 1;
  }
  /// t of row r and class c, which is element i.
  CORTADO_HD float of(int64_t r, int64_t c, int64_t i) const {
    return (kept * (soft ? labels.values[i] : labels.values[r] == float(c) ? 1 : 0) + spread) * weight(r, c);
  }
  CORTADO_HD float weight(int64_t r, int64_t c) const {
    return (class_weights ? class_weights[c] : 1) * (sample_weights ? sample_weights[r] : 1);
  }
  CORTADO_HD float loss(int64_t r, const float* p) const {
    if (!soft && spread == 0) {
      const int64_t label = int64_t(labels.values[r]);
      weights[r] = weight(r, label);
      return weights[r] * log_loss(p[rows.at(r, label)]);
    }
    float loss = 0, sum = 0;
    for (int64_t c = 0; c < rows.classes; ++c) {
      const int64_t i = rows.at(r, c);
      const float t = of(r, c, i);
      loss += t * log_loss(p[i]);
      sum += t;
    }
    weights[r] = sum;
    return loss;
  }
  CORTADO_HD float slope(int64_t r, int64_t c, int64_t i, const float* p) const {
    return p[i] * weights[r] - of(r, c, i);
  }
};

class SoftmaxWithLossLayer : public SoftmaxLoss {
 public:
  explicit SoftmaxWithLossLayer(const LayerOptions& options)
      : SoftmaxWithLossLayer(options, ClassWeights(options.config.loss_param())) {
    refuse_fields(options.config.softmax_param(), "softmax_param", {"pos_cid", "pos_mult"},
                  "use WeightedSoftmaxWithLoss");
  }

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    class_weights_.place(context);
    return SoftmaxLoss::prepare(request, context);
  }
  void forward(Context& context, const Operands& io) override {
    forward_rows(context, io, targets(io), counts_weights());
  }
  void backward(Context& context, const Operands& io) override { backward_rows(context, io, targets(io)); }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 5 * x[0].count(); }

 protected:
  /// With class weights from other options than loss_param.
  SoftmaxWithLossLayer(const LayerOptions& options, ClassWeights weights);

  ClassWeights class_weights_;

 private:
  bool names_classes() const override { return !soft_; }
  bool counts_weights() const { return class_weights_.given() && !class_weights_.count_as_one(); }
  int64_t kept_floats() const override { return rows(); }
  SoftmaxWithLossTargets targets(const Operands& io) const;

  int64_t axis_option_;
  bool soft_ = false;
};

SoftmaxWithLossLayer::SoftmaxWithLossLayer(const LayerOptions& layer, ClassWeights weights)
    : SoftmaxLoss(layer), class_weights_(std::move(weights)), axis_option_(layer.config.softmax_param().axis()) {
  const float e = options().label_smoothing();
  if (!(e >= 0 && e < 1))
    throw FieldError("loss_param.label_smoothing", "it is " + to_text(e) + ", but must be in [0, 1)",
                     "set the fraction of each label that is spread over all classes");
}

LayerShapes SoftmaxWithLossLayer::infer(const std::vector<Shape>& x) {
  LayerShapes shapes = settle(x[0], axis_option_, "softmax_param.axis");
  soft_ = classes() != 1 && x[1].count() == x[0].count();
  const auto require = [&](size_t bottom, const std::string& what, const std::string& hint) {
    if (x[bottom].count() == rows()) return;
    throw FieldError(entry("bottom", int64_t(bottom)),
                     "it has " + std::to_string(x[bottom].count()) + " " + what + " (" + x[bottom].str() + ") for " +
                         std::to_string(rows()) + " predictions (" + x[0].str() + ")",
                     hint);
  };
  const std::string place = " for each position of bottom[0] outside axis " +
                            std::to_string(axis_of(x[0], axis_option_, "softmax_param.axis"));
  if (!soft_)
    require(1, "labels", "one label" + place + ", which holds the classes, or one for each value of bottom[0]");
  if (x.size() > 2) require(2, "weights", "one weight" + place);
  class_weights_.check(classes());
  if (shapes.y.size() > 2 && !soft_) shapes.y[2] = x[1];
  return shapes;
}

SoftmaxWithLossTargets SoftmaxWithLossLayer::targets(const Operands& io) const {
  const float e = options().label_smoothing();
  return {.rows = places(),
          .labels = labels(io.x[1].f32()),
          .soft = soft_,
          .kept = 1 - e,
          .spread = e / float(classes()),
          .class_weights = class_weights_.data(),
          .sample_weights = io.x.size() > 2 ? io.x[2].f32() : nullptr,
          .counts_weights = counts_weights(),
          .weights = kept(io)};
}

class WeightedSoftmaxWithLossLayer : public SoftmaxWithLossLayer {
 public:
  explicit WeightedSoftmaxWithLossLayer(const LayerOptions& options)
      : SoftmaxWithLossLayer(options, ClassWeights(options.config.softmax_param())) {
    refuse_fields(options.config.loss_param(), "loss_param",
                  {"class_weight", "class_weighting", "weight_by_label_freqs"},
                  "set the weight of a class in softmax_param.pos_mult");
  }
};

const RegisterLayer register_softmax_with_loss({
    .name = "SoftmaxWithLoss",
    .help = "softmax and the negative log-likelihood of the labels",
    .options = "loss_param",
    .min_bottoms = 2,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 3,
    .make = make_layer<SoftmaxWithLossLayer>,
    .loss = LossRole{.answer = "Softmax", .axis = softmax_axis},
    .loss_fields = kAllLossFields,
});

}  // namespace

std::unique_ptr<Layer> make_softmax_with_loss(const LayerOptions& options) {
  return std::make_unique<SoftmaxWithLossLayer>(options);
}

std::unique_ptr<Layer> make_weighted_softmax_with_loss(const LayerOptions& options) {
  return std::make_unique<WeightedSoftmaxWithLossLayer>(options);
}

}  // namespace cortado
