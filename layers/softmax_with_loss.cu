// SoftmaxWithLoss: p = softmax(x), loss = -sum over classes of t log(max(p, FLT_MIN)) / normalizer, dx = (p sum t - t)
// dy / normalizer. A hard label says t = 1 for its class; soft labels, as many as there are scores, are t. Of either
// label_smoothing e makes (1 - e) t + e / classes. t is multiplied by the class_weight of its class and by the weight
// of its sample, which a third bottom may hold.
//
// The floor under p makes a dead net say exactly 87.3365. The normalizer is all labels (FULL), those not ignored
// (VALID), the outer extent (BATCH_SIZE), or 1 (NONE), but never below 1. With class weights VALID is the sum of the
// labels' weights, so that the loss is PyTorch's weighted mean; weights of samples leave the normalizer alone. Hard
// labels are looked at in every forward pass: on the CPU one that is no class ends it with an error, where Caffe reads
// other memory; on devices the loss becomes NaN, which explain() explains. A second top is p; unlike in Caffe a
// gradient that arrives there flows on.

#include <cfloat>
#include <cmath>

#include "core/device_memory.h"
#include "core/error.h"
#include "kernels/softmax.h"
#include "layers/class_weights.h"
#include "layers/loss_normalizer.h"
#include "layers/registry.h"
#include "layers/shape_rules.h"
#include "layers/softmax_rows.h"
#include "layers/typed.h"
#include "layers/words.h"

namespace cortado {

namespace {

/// What the predictions, outer x classes x inner, should be. Row r is one of outer x inner.
struct Targets {
  const float* values;
  SoftmaxRows rows;
  bool soft;  ///< a value for each prediction, else a class for each row
  bool ignores;
  float ignored;
  float kept, spread;  ///< 1 - e, and e / classes
  const float *class_weights, *sample_weights;  ///< null: 1

  CORTADO_HD bool counts(int64_t r) const { return soft || !(ignores && values[r] == ignored); }
  CORTADO_HD bool valid(int64_t r) const {
    if (soft) return true;
    const float v = values[r];
    return v >= 0 && v < float(rows.classes) && v == floorf(v);
  }
  /// t of row r and class c, which is element i.
  CORTADO_HD float of(int64_t r, int64_t c, int64_t i) const {
    return (kept * (soft ? values[i] : values[r] == float(c) ? 1 : 0) + spread) * weight(r, c);
  }
  CORTADO_HD float weight(int64_t r, int64_t c) const {
    return (class_weights ? class_weights[c] : 1) * (sample_weights ? sample_weights[r] : 1);
  }
  /// What row r adds to the number of those that count.
  CORTADO_HD float count(int64_t r) const {
    return !counts(r) ? 0 : class_weights && !soft && valid(r) ? class_weights[int64_t(values[r])] : 1;
  }
};

CORTADO_HD inline float log_loss(float p) { return -logf(p < FLT_MIN ? FLT_MIN : p); }

/// A row's share of the loss, and its sum of t; both 0 where it is ignored.
struct JudgeRow {
  Targets targets;
  const float* p;
  float *losses, *weights;
  CORTADO_HD void operator()(int64_t r) const {
    weights[r] = 0;
    losses[r] = !targets.counts(r) ? 0 : targets.valid(r) ? loss_of(r) : NAN;
  }
  CORTADO_HD float loss_of(int64_t r) const {
    if (!targets.soft && targets.spread == 0) {
      const int64_t label = int64_t(targets.values[r]);
      weights[r] = targets.weight(r, label);
      return weights[r] * log_loss(p[targets.rows.at(r, label)]);
    }
    float loss = 0, weight = 0;
    for (int64_t c = 0; c < targets.rows.classes; ++c) {
      const int64_t i = targets.rows.at(r, c);
      const float t = targets.of(r, c, i);
      loss += t * log_loss(p[i]);
      weight += t;
    }
    weights[r] = weight;
    return loss;
  }
};

/// The whole of forward for a row: p, and what there is to say of it.
template <typename T>
struct SoftmaxAndJudge {
  const T* x;
  float* p;
  JudgeRow judge;
  CORTADO_HD void operator()(int64_t r) const {
    judge.targets.rows.write(r, x, p);
    judge(r);
  }
};

/// Of row 0, the losses; of row 1, what each counts.
struct SumTerm {
  const float* losses;
  Targets targets;
  CORTADO_HD float operator()(int64_t k, int64_t r) const { return k == 0 ? losses[r] : targets.count(r); }
};

template <typename T>
struct Backward {
  T* dx;
  Targets targets;
  const float *p, *weights, *normalizer;
  const float* dy;         ///< of the loss; null: none
  const float *dp, *sums;  ///< of p; null: none
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t classes = targets.rows.classes, inner = targets.rows.inner;
    const int64_t o = i / (classes * inner), rest = i - o * classes * inner;
    const int64_t c = inner == 1 ? rest : rest / inner, r = o * inner + rest - c * inner;
    float gradient = 0;
    if (dy && targets.counts(r)) gradient = (p[i] * weights[r] - targets.of(r, c, i)) * (dy[0] / normalizer[0]);
    if (dp) gradient += p[i] * (dp[i] - sums[r]);
    dx[i] = gradient;
  }
};

class SoftmaxWithLossLayer : public Layer {
 public:
  explicit SoftmaxWithLossLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>& x) override;
  TypeRule types() const override { return TypeRule::kReads; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  void explain(Context& context, const Operands& io) override;
  bool is_loss() const override { return true; }
  bool differentiable(int i) const override { return i == 0; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 5 * x[0].count(); }

 private:
  int64_t rows() const { return outer_ * inner_; }
  float* p(const Operands& io) const { return shows_p_ ? io.y[1].f32() : static_cast<float*>(io.saved[1]); }
  static float* normalizer(const Operands& io) { return static_cast<float*>(io.saved[0]); }
  static float* weights(const Operands& io) { return normalizer(io) + 1; }
  Targets targets_of(const float* values, const Operands& io) const;
  void check(const Targets& targets) const;

  int64_t axis_option_;
  const caffe::LossParameter& loss_;
  ClassWeights class_weights_;
  bool shows_p_;  ///< there is a second top
  bool soft_ = false;
  int axis_ = 0;
  int64_t outer_ = 0, classes_ = 0, inner_ = 0;
  std::unique_ptr<kernels::Softmax> softmax_;  ///< where p is made apart: for 32-bit floats on the CPU
};

SoftmaxWithLossLayer::SoftmaxWithLossLayer(const LayerOptions& options)
    : axis_option_(options.config.softmax_param().axis()),
      loss_(options.config.loss_param()),
      class_weights_(loss_),
      shows_p_(options.config.top_size() > 1) {
  if (!(loss_.label_smoothing() >= 0 && loss_.label_smoothing() < 1))
    throw FieldError("loss_param.label_smoothing",
                     "it is " + text_of(loss_.label_smoothing()) + ", but must lie in [0, 1)",
                     "it is the share of each label that all classes get alike");
}

LayerShapes SoftmaxWithLossLayer::infer(const std::vector<Shape>& x) {
  axis_ = axis_of(x[0], axis_option_, "softmax_param.axis");
  outer_ = x[0].count(0, axis_), classes_ = x[0][axis_], inner_ = x[0].count(axis_ + 1);
  soft_ = classes_ != 1 && x[1].count() == x[0].count();
  if (!soft_ && x[1].count() != rows())
    throw FieldError("bottom[1]",
                     "there are " + std::to_string(x[1].count()) + " labels (" + x[1].str() + ") for " +
                         std::to_string(rows()) + " predictions (" + x[0].str() + ")",
                     "one label for each place of bottom[0] outside axis " + std::to_string(axis_) +
                         ", which holds the classes, or one for each value of bottom[0]");
  if (x.size() > 2 && x[2].count() != rows())
    throw FieldError("bottom[2]",
                     "there are " + std::to_string(x[2].count()) + " weights (" + x[2].str() + ") for " +
                         std::to_string(rows()) + " predictions (" + x[0].str() + ")",
                     "one weight for each place of bottom[0] outside axis " + std::to_string(axis_));
  class_weights_.check(classes_);
  return {.y = shows_p_ ? std::vector<Shape>{Shape(), x[0]} : std::vector<Shape>{Shape()}, .w = {}};
}

LayerNeeds SoftmaxWithLossLayer::prepare(const PrepareRequest& request, Context& context) {
  const int64_t row_bytes = rows() * int64_t(sizeof(float));
  class_weights_.place(context);
  LayerNeeds needs;
  needs.backward_reads_x = {false, true, true};
  needs.backward_reads_x.resize(request.x.size());
  needs.backward_reads_y = {false};
  needs.saved = {int64_t(sizeof(float)) + row_bytes};
  if (shows_p_)
    needs.backward_reads_y.push_back(true);
  else
    needs.saved.push_back(request.x[0].shape.count() * int64_t(sizeof(float)));
  needs.forward_scratch = row_bytes + 2 * int64_t(sizeof(float));
  needs.backward_scratch = shows_p_ ? row_bytes : 0;
  softmax_.reset();
  needs.algorithm = "own";
  if (!context.device.is_cpu() || request.x[0].dtype != DType::kF32) return needs;
  softmax_ = kernels::plan_softmax({outer_, classes_, inner_}, context);
  needs.forward_scratch = std::max(softmax_->forward_scratch(), needs.forward_scratch);
  needs.algorithm = softmax_->name();
  return needs;
}

void SoftmaxWithLossLayer::forward(Context& context, const Operands& io) {
  const Targets targets = targets_of(io.x[1].f32(), io);
  float *losses = static_cast<float*>(io.scratch), *sums = losses + rows();
  const JudgeRow judge{targets, p(io), losses, weights(io)};
  if (context.device.is_cpu()) check(targets);
  if (softmax_) {
    softmax_->forward(context, io.x[0].data, p(io), io.scratch);
    for_each(context, rows(), judge);
  } else {
    with_functor<SoftmaxAndJudge>([&](const auto& both) { for_each(context, rows(), both); }, io.x[0], p(io), judge);
  }
  reduce_rows(context, 2, rows(), SumTerm{losses, targets}, sums);
  const float counted = soft_ ? float(rows()) : 0;
  const float fixed = fixed_normalizer(loss_, caffe::LossParameter::VALID, rows(), outer_, counted);
  for_each(context, 1, NormalizeLoss{sums, io.y[0].f32(), normalizer(io), fixed, class_weights_.given()});
}

void SoftmaxWithLossLayer::backward(Context& context, const Operands& io) {
  if (!io.dx[0]) return;
  const Targets targets = targets_of(io.x[1].f32(), io);
  const float* dp = shows_p_ ? io.dy[1].f32() : nullptr;
  float* sums = static_cast<float*>(io.scratch);
  if (dp) for_each(context, rows(), GradientOfP{targets.rows, p(io), dp, sums});
  for_each_typed<Backward>(context, io.dx[0], targets, p(io), weights(io), normalizer(io), io.dy[0].f32(), dp, sums);
}

void SoftmaxWithLossLayer::explain(Context& context, const Operands& io) {
  std::vector<float> values(size_t(io.x[1].count()));
  copy_to_host(context, values.data(), io.x[1].data, values.size() * sizeof(float));
  check(targets_of(values.data(), io));
}

Targets SoftmaxWithLossLayer::targets_of(const float* values, const Operands& io) const {
  const float e = loss_.label_smoothing();
  return {.values = values,
          .rows = {classes_, inner_},
          .soft = soft_,
          .ignores = loss_.has_ignore_label(),
          .ignored = float(loss_.ignore_label()),
          .kept = 1 - e,
          .spread = e / float(classes_),
          .class_weights = class_weights_.data(),
          .sample_weights = io.x.size() > 2 ? io.x[2].f32() : nullptr};
}

/// Throws Error(kData) at the first label that is no class.
void SoftmaxWithLossLayer::check(const Targets& targets) const {
  for (int64_t r = 0; r < rows() && !soft_; ++r) {
    if (!targets.counts(r) || targets.valid(r)) continue;
    const std::string place = inner_ == 1 ? "" : ", place " + std::to_string(r % inner_);
    throw Error(ExitCode::kData,
                "label " + text_of(targets.values[r]) + " of item " + std::to_string(r / inner_) + place +
                    " is not one of the " + std::to_string(classes_) + " classes",
                "labels are whole numbers from 0 to " + std::to_string(classes_ - 1) +
                    "; the number of classes is the num_output of the layer before, and loss_param.ignore_label "
                    "skips a label");
  }
}

const RegisterLayer registered({
    .name = "SoftmaxWithLoss",
    .help = "softmax and the negative log-likelihood of the labels",
    .options = "loss_param",
    .least_x = 2,
    .most_x = 3,
    .least_y = 1,
    .most_y = 2,
    .make = make_layer<SoftmaxWithLossLayer>,
});

}  // namespace

}  // namespace cortado
