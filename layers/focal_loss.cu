// FocalLoss: p = softmax(x), loss = -alpha sum of w (1 - p)^gamma log(max(p, FLT_MIN)) / normalizer, p being that of
// the label and w its class_weight. Samples that are right already count less, the more so the larger gamma is; with
// gamma 0 and alpha 1 this is SoftmaxWithLoss.
//   dx = alpha w (gamma p (1 - p)^(gamma - 1) log p - (1 - p)^gamma) ([c is the label] - p of c) dy / normalizer
//
// The axis is softmax_param's. The normalizer is loss_normalizer.h's, with VALID the default: how many count, whatever
// they weigh. A label that is no class is a mistake, on devices a loss of NaN. A second top is p.

#include <cfloat>
#include <cmath>

#include "core/error.h"
#include "layers/class_labels.h"
#include "layers/class_weights.h"
#include "layers/loss_normalizer.h"
#include "layers/registry.h"
#include "layers/shape_rules.h"
#include "layers/softmax_rows.h"
#include "layers/typed.h"
#include "layers/words.h"

namespace cortado {

namespace {

struct Focus {
  float gamma, alpha;

  CORTADO_HD static float log_of(float p) { return logf(p < FLT_MIN ? FLT_MIN : p); }
  CORTADO_HD float loss(float p) const { return -alpha * powf(1 - p, gamma) * log_of(p); }
  /// p times the slope of loss(p). Where p is 1 the first term vanishes, though its factors are no numbers there.
  CORTADO_HD float pull(float p) const {
    const float rest = 1 - p, first = rest > 0 ? gamma * p * powf(rest, gamma - 1) * log_of(p) : 0;
    return alpha * (first - powf(rest, gamma));
  }
};

/// Row r, one of outer x inner, of outer x classes x inner.
struct Rows {
  ClassLabels labels;
  const float* weights;  ///< of classes; null: 1
  Focus focus;
  int64_t inner;

  CORTADO_HD SoftmaxRows places() const { return {labels.classes, inner}; }
  CORTADO_HD int64_t label(int64_t r) const { return int64_t(labels.values[r]); }
  CORTADO_HD float weight(int64_t r) const { return weights ? weights[label(r)] : 1; }
};

/// The whole of forward for a row: p, and its share of the loss.
template <typename T>
struct SoftmaxAndJudge {
  const T* x;
  float *p, *losses;
  Rows rows;
  CORTADO_HD void operator()(int64_t r) const {
    rows.places().write(r, x, p);
    losses[r] = !rows.labels.counts(r)  ? 0
                : rows.labels.valid(r) ? rows.weight(r) * rows.focus.loss(p[rows.places().at(r, rows.label(r))])
                                       : NAN;
  }
};

template <typename T>
struct Backward {
  T* dx;
  Rows rows;
  const float* p;
  const float *dy, *normalizer;  ///< of the loss, one value each; dy null: none
  const float *dp, *sums;        ///< of p; null: none
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t classes = rows.labels.classes, o = i / (classes * rows.inner), rest = i - o * classes * rows.inner;
    const int64_t c = rest / rows.inner, r = o * rows.inner + rest - c * rows.inner;
    float gradient = 0;
    if (dy && rows.labels.counts(r) && rows.labels.valid(r)) {
      const float pull = rows.weight(r) * rows.focus.pull(p[rows.places().at(r, rows.label(r))]);
      gradient = pull * ((c == rows.label(r) ? 1 : 0) - p[i]) * (dy[0] / normalizer[0]);
    }
    if (dp) gradient += p[i] * (dp[i] - sums[r]);
    dx[i] = gradient;
  }
};

class FocalLossLayer : public Layer {
 public:
  explicit FocalLossLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>& x) override;
  TypeRule types() const override { return TypeRule::kReads; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  void explain(Context& context, const Operands& io) override {
    explain_labels(context, io.x[1], rows_of(io).labels, inner_);
  }
  bool is_loss() const override { return true; }
  bool differentiable(int i) const override { return i == 0; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 6 * x[0].count(); }

 private:
  int64_t rows() const { return outer_ * inner_; }
  float* p(const Operands& io) const { return shows_p_ ? io.y[1].f32() : static_cast<float*>(io.saved[1]); }
  static float* normalizer(const Operands& io) { return static_cast<float*>(io.saved[0]); }
  Rows rows_of(const Operands& io) const {
    return {{io.x[1].f32(), classes_, loss_.has_ignore_label(), float(loss_.ignore_label())},
            weights_.data(),
            focus_,
            inner_};
  }

  int64_t axis_option_;
  const caffe::LossParameter& loss_;
  ClassWeights weights_;
  Focus focus_;
  bool shows_p_;  ///< there is a second top
  int64_t outer_ = 0, classes_ = 0, inner_ = 0;
};

FocalLossLayer::FocalLossLayer(const LayerOptions& options)
    : axis_option_(options.config.softmax_param().axis()),
      loss_(options.config.loss_param()),
      weights_(loss_),
      focus_{options.config.focal_loss_param().gamma(), options.config.focal_loss_param().alpha()},
      shows_p_(options.config.top_size() > 1) {
  if (!(focus_.gamma >= 0 && std::isfinite(focus_.gamma)))
    throw FieldError("focal_loss_param.gamma", "it is " + text_of(focus_.gamma) + ", but must not be below 0",
                     "0 is the plain softmax loss, 2 is usual");
  if (!std::isfinite(focus_.alpha))
    throw FieldError("focal_loss_param.alpha", "it is " + text_of(focus_.alpha) + ", but must be a number");
  if (loss_.label_smoothing() != 0)
    throw FieldError("loss_param.label_smoothing", "label_smoothing is not available here",
                     "SoftmaxWithLoss has it");
}

LayerShapes FocalLossLayer::infer(const std::vector<Shape>& x) {
  const int axis = axis_of(x[0], axis_option_, "softmax_param.axis");
  outer_ = x[0].count(0, axis), classes_ = x[0][axis], inner_ = x[0].count(axis + 1);
  if (classes_ == 0) throw FieldError("bottom[0]", "its shape is " + x[0].str() + ": there are no classes");
  require_labels(x[0], x[1], rows());
  weights_.check(classes_);
  return {.y = shows_p_ ? std::vector<Shape>{Shape(), x[0]} : std::vector<Shape>{Shape()}, .w = {}};
}

LayerNeeds FocalLossLayer::prepare(const PrepareRequest& request, Context& context) {
  constexpr int64_t kFloat = sizeof(float);
  weights_.place(context);
  LayerNeeds needs;
  needs.backward_reads_x = {false, true};
  needs.backward_reads_y = {false};
  needs.saved = {kFloat};
  if (shows_p_)
    needs.backward_reads_y.push_back(true);
  else
    needs.saved.push_back(request.x[0].shape.count() * kFloat);
  needs.forward_scratch = (rows() + 2) * kFloat;
  needs.backward_scratch = shows_p_ ? rows() * kFloat : 0;
  return needs;
}

void FocalLossLayer::forward(Context& context, const Operands& io) {
  const Rows all = rows_of(io);
  if (context.device.is_cpu()) check_labels(all.labels, rows(), inner_);
  float *losses = static_cast<float*>(io.scratch), *sums = losses + rows();
  const auto run = [&](const auto& both) { for_each(context, rows(), both); };
  with_functor<SoftmaxAndJudge>(run, io.x[0], p(io), losses, all);
  reduce_rows(context, 2, rows(), LossesAndCounts{losses, all.labels}, sums);
  const float fixed = fixed_normalizer(loss_, caffe::LossParameter::VALID, rows(), outer_);
  for_each(context, 1, NormalizeLoss{sums, io.y[0].f32(), normalizer(io), fixed});
}

void FocalLossLayer::backward(Context& context, const Operands& io) {
  if (!io.dx[0]) return;
  const Rows all = rows_of(io);
  const float* dp = shows_p_ ? io.dy[1].f32() : nullptr;
  float* sums = static_cast<float*>(io.scratch);
  if (dp) for_each(context, rows(), GradientOfP{all.places(), p(io), dp, sums});
  for_each_typed<Backward>(context, io.dx[0], all, p(io), io.dy[0].f32(), normalizer(io), dp, sums);
}

const RegisterLayer registered({
    .name = "FocalLoss",
    .help = "softmax and a log-likelihood that counts what is right already the less",
    .options = "focal_loss_param",
    .least_x = 2,
    .most_x = 2,
    .least_y = 1,
    .most_y = 2,
    .make = make_layer<FocalLossLayer>,
});

}  // namespace

}  // namespace cortado
