// SoftmaxWithLoss: p = softmax(x), loss = -sum of log(max(p[label], FLT_MIN)) / normalizer.
//
// The floor under p makes a dead net say exactly 87.3365. The normalizer is all labels (FULL), those not ignored
// (VALID), the outer extent (BATCH_SIZE), or 1 (NONE), but never below 1. dx = (p - onehot(label)) * dy / normalizer,
// 0 where ignored. Labels are looked at in every forward pass: one that is no class ends it with an error, where
// Caffe reads other memory. A second top is p; unlike in Caffe a gradient that arrives there flows on.

#include <cfloat>
#include <cmath>

#include "core/error.h"
#include "core/for_each.h"
#include "kernels/softmax.h"
#include "layers/registry.h"
#include "layers/shape_rules.h"
#include "layers/words.h"

namespace cortado {

namespace {

/// Labels, one for each of outer x inner, and the predictions outer x classes x inner that they judge.
struct Labels {
  const float* values;
  int64_t classes, inner;
  bool ignores;
  int ignored;

  CORTADO_HD bool counts(int64_t r) const { return !(ignores && values[r] == float(ignored)); }
  CORTADO_HD int64_t at(int64_t r) const { return (r / inner * classes + int64_t(values[r])) * inner + r % inner; }
  CORTADO_HD bool valid(int64_t r) const {
    const float v = values[r];
    return v >= 0 && v < float(classes) && v == floorf(v);
  }
};

struct LossTerm {
  Labels labels;
  const float* p;
  CORTADO_HD float operator()(int64_t row, int64_t i) const {
    const int64_t r = row * labels.inner + i;
    if (!labels.counts(r)) return 0;
    if (!labels.valid(r)) return NAN;
    const float likelihood = p[labels.at(r)];
    return -logf(likelihood < FLT_MIN ? FLT_MIN : likelihood);
  }
};

struct CountTerm {
  Labels labels;
  CORTADO_HD float operator()(int64_t row, int64_t i) const { return labels.counts(row * labels.inner + i) ? 1 : 0; }
};

struct Itself {
  const float* values;
  CORTADO_HD float operator()(int64_t, int64_t i) const { return values[i]; }
};

/// Turns the sum into the loss, and the count of labels into the normalizer, unless that is fixed.
struct Normalize {
  float* loss;
  float* normalizer;
  float fixed;  ///< 0: the count
  CORTADO_HD void operator()(int64_t) const {
    const float wanted = fixed > 0 ? fixed : *normalizer;
    *normalizer = wanted > 1 ? wanted : 1;
    *loss /= *normalizer;
  }
};

struct ScaleP {
  const float* p;
  const float *dy, *normalizer;
  float* dx;
  bool add;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = p[i] * (dy[0] / normalizer[0]);
    dx[i] = add ? dx[i] + v : v;
  }
};

/// What differs at the label: -1 there, and where labels are ignored p's share is taken back in every class.
struct AtLabel {
  Labels labels;
  const float* p;
  const float *dy, *normalizer;
  float* dx;
  CORTADO_HD void operator()(int64_t r) const {
    const float scale = dy[0] / normalizer[0];
    if (labels.counts(r)) {
      dx[labels.at(r)] -= scale;
      return;
    }
    const int64_t first = r / labels.inner * labels.classes * labels.inner + r % labels.inner;
    for (int64_t c = 0; c < labels.classes; ++c) dx[first + c * labels.inner] -= p[first + c * labels.inner] * scale;
  }
};

class SoftmaxWithLossLayer : public Layer {
 public:
  explicit SoftmaxWithLossLayer(const LayerOptions& options)
      : axis_option_(options.config.softmax_param().axis()),
        loss_(options.config.loss_param()),
        mode_(loss_.normalization()),
        shows_p_(options.config.top_size() > 1) {
    if (!loss_.has_normalization() && loss_.has_normalize())
      mode_ = loss_.normalize() ? caffe::LossParameter::VALID : caffe::LossParameter::BATCH_SIZE;
    if (loss_.label_smoothing() != 0)
      throw FieldError("loss_param.label_smoothing", "label smoothing is not available yet",
                       "leave it out, or set it to 0");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    axis_ = axis_of(x[0], axis_option_, "softmax_param.axis");
    outer_ = x[0].count(0, axis_), classes_ = x[0][axis_], inner_ = x[0].count(axis_ + 1);
    if (x[1].count() != outer_ * inner_)
      throw FieldError(
          "bottom[1]",
          "there are " + std::to_string(x[1].count()) + " labels (" + x[1].str() + ") for " +
              std::to_string(outer_ * inner_) + " predictions (" + x[0].str() + ")",
          "one label for each place of bottom[0] outside axis " + std::to_string(axis_) + ", which holds the classes");
    return {.y = shows_p_ ? std::vector<Shape>{Shape(), x[0]} : std::vector<Shape>{Shape()}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    softmax_ = kernels::plan_softmax({outer_, classes_, inner_, request.backward}, context);
    const int64_t row_sums = outer_ * int64_t(sizeof(float));
    LayerNeeds needs;
    needs.backward_reads_x = {false, true};
    needs.backward_reads_y = {false};
    needs.saved = {int64_t(sizeof(float))};
    if (shows_p_)
      needs.backward_reads_y.push_back(true);
    else
      needs.saved.push_back(request.x[0].bytes());
    needs.forward_scratch = std::max(softmax_->forward_scratch(), row_sums);
    needs.backward_scratch = softmax_->backward_scratch();
    needs.algorithm = softmax_->name();
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const Labels labels = labels_of(io);
    if (context.device.is_cpu()) check(labels);
    softmax_->forward(context, io.x[0].f32(), p(io), io.scratch);
    float *sums = static_cast<float*>(io.scratch), *loss = io.y[0].f32();
    reduce_rows(context, outer_, inner_, LossTerm{labels, p(io)}, sums);
    reduce_rows(context, 1, outer_, Itself{sums}, loss);
    reduce_rows(context, outer_, inner_, CountTerm{labels}, sums);
    reduce_rows(context, 1, outer_, Itself{sums}, normalizer(io));
    for_each(context, 1, Normalize{loss, normalizer(io), fixed_normalizer()});
  }

  void backward(Context& context, const Operands& io) override {
    if (!io.dx[0]) return;
    const float* dy = io.dy[0].f32();
    float* dx = io.dx[0].f32();
    const bool through_p = shows_p_ && io.dy[1];
    if (through_p) softmax_->backward(context, p(io), io.dy[1].f32(), dx, io.scratch);
    if (!dy) return;
    for_each(context, io.x[0].count(), ScaleP{p(io), dy, normalizer(io), dx, through_p});
    for_each(context, outer_ * inner_, AtLabel{labels_of(io), p(io), dy, normalizer(io), dx});
  }

  bool is_loss() const override { return true; }
  bool differentiable(int i) const override { return i == 0; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 5 * x[0].count(); }

 private:
  float* p(const Operands& io) const { return shows_p_ ? io.y[1].f32() : static_cast<float*>(io.saved[1]); }
  static float* normalizer(const Operands& io) { return static_cast<float*>(io.saved[0]); }

  Labels labels_of(const Operands& io) const {
    return {io.x[1].f32(), classes_, inner_, loss_.has_ignore_label(), loss_.ignore_label()};
  }

  /// 0 where labels are counted.
  float fixed_normalizer() const {
    switch (mode_) {
      case caffe::LossParameter::FULL:
        return float(outer_ * inner_);
      case caffe::LossParameter::BATCH_SIZE:
        return float(outer_);
      case caffe::LossParameter::NONE:
        return 1;
      case caffe::LossParameter::PRE_FIXED:
        return loss_.pre_fixed_normalizer();
      default:
        return 0;
    }
  }

  void check(const Labels& labels) const {
    for (int64_t r = 0; r < outer_ * inner_; ++r) {
      if (!labels.counts(r) || labels.valid(r)) continue;
      const std::string place = inner_ == 1 ? "" : ", place " + std::to_string(r % inner_);
      throw Error(ExitCode::kData,
                  "label " + text_of(labels.values[r]) + " of item " + std::to_string(r / inner_) + place +
                      " is not one of the " + std::to_string(classes_) + " classes",
                  "labels are whole numbers from 0 to " + std::to_string(classes_ - 1) +
                      "; the number of classes is the num_output of the layer before, and loss_param.ignore_label "
                      "skips a label");
    }
  }

  int64_t axis_option_;
  const caffe::LossParameter& loss_;
  caffe::LossParameter::NormalizationMode mode_;
  bool shows_p_;  ///< there is a second top
  int axis_ = 0;
  int64_t outer_ = 0, classes_ = 0, inner_ = 0;
  std::unique_ptr<kernels::Softmax> softmax_;
};

const RegisterLayer registered({
    .name = "SoftmaxWithLoss",
    .help = "softmax and the negative log-likelihood of the labels",
    .options = "loss_param",
    .least_x = 2,
    .most_x = 2,
    .least_y = 1,
    .most_y = 2,
    .make = make_layer<SoftmaxWithLossLayer>,
});

}  // namespace

}  // namespace cortado
