// FocalLoss: p = softmax(x), loss = -alpha sum of w (1 - p)^gamma log(max(p, FLT_MIN)) / normalizer, where p is that of
// the label and w its class_weight. Well-classified samples have less weight, the more so the larger gamma is; with
// gamma 0 and alpha 1 this is SoftmaxWithLoss.
//   dx = alpha w (gamma p (1 - p)^(gamma - 1) log p - (1 - p)^gamma) ([c is the label] - p of c) dy / normalizer
//
// The axis is softmax_param's. The normalizer VALID is the number of samples that count, regardless of weights. For the
// rest see layers/common/losses/softmax_loss.h.

#include <cfloat>
#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/losses/class_weights.h"
#include "layers/common/losses/softmax_loss.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct Focus {
  SoftmaxRows rows;
  ClassLabels labels;
  const float* weights;  ///< of classes; null: 1
  float gamma, alpha;

  CORTADO_HD bool counts(int64_t r) const { return labels.counts(r); }
  CORTADO_HD bool valid(int64_t r) const { return labels.valid(r); }
  CORTADO_HD float count(int64_t) const { return 1; }
  CORTADO_HD int64_t label(int64_t r) const { return int64_t(labels.values[r]); }
  CORTADO_HD float weight(int64_t r) const { return weights ? weights[label(r)] : 1; }
  CORTADO_HD static float log_of(float p) { return logf(p < FLT_MIN ? FLT_MIN : p); }

  CORTADO_HD float loss(int64_t r, const float* p) const {
    const float right = p[rows.at(r, label(r))];
    return weight(r) * (-alpha * powf(1 - right, gamma) * log_of(right));
  }
  /// p times the derivative of the loss by p. At p = 1 the first term is 0, though its factors are not finite.
  CORTADO_HD float pull(float p) const {
    const float rest = 1 - p, first = rest > 0 ? gamma * p * powf(rest, gamma - 1) * log_of(p) : 0;
    return alpha * (first - powf(rest, gamma));
  }
  CORTADO_HD float slope(int64_t r, int64_t c, int64_t i, const float* p) const {
    return weight(r) * pull(p[rows.at(r, label(r))]) * ((c == label(r) ? 1 : 0) - p[i]);
  }
};

class FocalLossLayer : public SoftmaxLoss {
 public:
  explicit FocalLossLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>& x) override {
    LayerShapes shapes = settle(x[0], axis_option_, "softmax_param.axis");
    require_labels(x[0], x[1], rows());
    weights_.check(classes());
    return shapes;
  }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    weights_.place(context);
    return SoftmaxLoss::prepare(request, context);
  }
  void forward(Context& context, const Operands& io) override { forward_rows(context, io, focus(io)); }
  void backward(Context& context, const Operands& io) override { backward_rows(context, io, focus(io)); }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 6 * x[0].count(); }

 private:
  Focus focus(const Operands& io) const { return {places(), labels(io.x[1].f32()), weights_.data(), gamma_, alpha_}; }

  int64_t axis_option_;
  ClassWeights weights_;
  float gamma_, alpha_;
};

FocalLossLayer::FocalLossLayer(const LayerOptions& layer)
    : SoftmaxLoss(layer),
      axis_option_(layer.config.softmax_param().axis()),
      weights_(options()),
      gamma_(layer.config.focal_loss_param().gamma()),
      alpha_(layer.config.focal_loss_param().alpha()) {
  if (!(gamma_ >= 0 && std::isfinite(gamma_)))
    throw FieldError("focal_loss_param.gamma", "it is " + to_text(gamma_) + ", but must not be below 0",
                     "set 0 for the plain softmax loss; 2 is common");
  if (!std::isfinite(alpha_))
    throw FieldError("focal_loss_param.alpha", "it is " + to_text(alpha_) + ", but must be finite");
  if (options().label_smoothing() != 0)
    throw FieldError("loss_param.label_smoothing", "label_smoothing is not available here", "use SoftmaxWithLoss");
}

const RegisterLayer register_focal_loss({
    .name = "FocalLoss",
    .help = "softmax and a log-likelihood with less weight for well-classified samples",
    .options = "focal_loss_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<FocalLossLayer>,
    .loss = LossRole{.answer = "Softmax", .axis = softmax_axis},
    .loss_fields = kAllLossFields,
});

}  // namespace

}  // namespace cortado
