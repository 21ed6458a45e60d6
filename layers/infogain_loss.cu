// InfogainLoss: p = softmax(x), loss = -sum over rows of sum over classes k of H[label][k] log(max(p[k], 1e-20)) /
// normalizer. H, classes x classes, is the third bottom or lies in the file `source`; with H the identity this is
// SoftmaxWithLoss. dx = dy (p sum of H[label] - H[label]) / normalizer, as if the floor were not there.
//
// The normalizer is loss_normalizer.h's, with VALID the default. A label that is no class is a mistake, on devices a
// loss of NaN. A second top is p; unlike in Caffe a gradient that arrives there flows on.

#include <cmath>

#include "core/device_memory.h"
#include "core/error.h"
#include "layers/class_labels.h"
#include "layers/loss_normalizer.h"
#include "layers/registry.h"
#include "layers/shape_rules.h"
#include "layers/softmax_rows.h"
#include "layers/typed.h"
#include "proto/weights_file.h"

namespace cortado {

namespace {

/// Row r, one of outer x inner, of outer x classes x inner.
struct Rows {
  ClassLabels labels;
  const float* h;
  int64_t inner;

  CORTADO_HD SoftmaxRows places() const { return {labels.classes, inner}; }
  CORTADO_HD float gain(int64_t r, int64_t c) const { return h[int64_t(labels.values[r]) * labels.classes + c]; }
};

/// The whole of forward for a row: p, and its share of the loss.
template <typename T>
struct SoftmaxAndJudge {
  const T* x;
  float *p, *losses;
  Rows rows;
  CORTADO_HD void operator()(int64_t r) const {
    rows.places().write(r, x, p);
    losses[r] = !rows.labels.counts(r) ? 0 : rows.labels.valid(r) ? loss_of(r) : NAN;
  }
  CORTADO_HD float loss_of(int64_t r) const {
    float loss = 0;
    for (int64_t c = 0; c < rows.labels.classes; ++c) {
      const float v = p[rows.places().at(r, c)];
      loss -= rows.gain(r, c) * logf(v < 1e-20f ? 1e-20f : v);
    }
    return loss;
  }
};

/// The sum of a row of H.
struct Gain {
  const float* h;
  int64_t classes;
  CORTADO_HD float operator()(int64_t label, int64_t c) const { return h[label * classes + c]; }
};

template <typename T>
struct Backward {
  T* dx;
  Rows rows;
  const float *p, *gains;        ///< gains: the sum of each row of H
  const float *dy, *normalizer;  ///< of the loss, one value each; dy null: none
  const float *dp, *sums;        ///< of p; null: none
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t classes = rows.labels.classes, o = i / (classes * rows.inner), rest = i - o * classes * rows.inner;
    const int64_t c = rest / rows.inner, r = o * rows.inner + rest - c * rows.inner;
    float gradient = 0;
    if (dy && rows.labels.counts(r) && rows.labels.valid(r))
      gradient = (p[i] * gains[int64_t(rows.labels.values[r])] - rows.gain(r, c)) * (dy[0] / normalizer[0]);
    if (dp) gradient += p[i] * (dp[i] - sums[r]);
    dx[i] = gradient;
  }
};

class InfogainLossLayer : public Layer {
 public:
  explicit InfogainLossLayer(const LayerOptions& options)
      : options_(options.config.infogain_loss_param()),
        loss_(options.config.loss_param()),
        opens_source_(options.open_data),
        shows_p_(options.config.top_size() > 1) {
    const bool third = options.config.bottom_size() > 2;
    if (!third && !options_.has_source())
      throw FieldError("infogain_loss_param", "there is no infogain matrix",
                       "name its file in source, or give it as a third bottom");
    if (third && options_.has_source())
      throw FieldError("infogain_loss_param.source",
                       "source contradicts the third bottom, which is the infogain matrix", "give one of them");
    if (loss_.label_smoothing() != 0)
      throw FieldError("loss_param.label_smoothing", "label_smoothing is not available here",
                       "the rows of the infogain matrix can say the same");
    if (loss_.class_weight_size() > 0)
      throw FieldError("loss_param.class_weight[0]", "class_weight is not available here",
                       "multiply the rows of the infogain matrix by the weights");
  }

  LayerShapes infer(const std::vector<Shape>& x) override;
  TypeRule types() const override { return TypeRule::kReads; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;

  void explain(Context& context, const Operands& io) override {
    ClassLabels labels = rows_of(io).labels;
    explain_labels(context, io.x[1], labels, inner_);
  }

  bool is_loss() const override { return true; }
  bool differentiable(int i) const override { return i == 0; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 7 * x[0].count(); }

 private:
  int64_t rows() const { return outer_ * inner_; }
  float* p(const Operands& io) const { return shows_p_ ? io.y[1].f32() : static_cast<float*>(io.saved[1]); }
  static float* normalizer(const Operands& io) { return static_cast<float*>(io.saved[0]); }
  static float* gains(const Operands& io) { return normalizer(io) + 1; }
  Rows rows_of(const Operands& io) const {
    const float* h = io.x.size() > 2 ? io.x[2].f32() : reinterpret_cast<const float*>(matrix_.data());
    return {{io.x[1].f32(), classes_, loss_.has_ignore_label(), float(loss_.ignore_label())}, h, inner_};
  }
  void check_matrix(const Shape& h, const std::string& field) const;

  const caffe::InfogainLossParameter& options_;
  const caffe::LossParameter& loss_;
  bool opens_source_, shows_p_;
  int64_t outer_ = 0, classes_ = 0, inner_ = 0;
  std::vector<float> source_;  ///< H from the file
  DeviceMemory matrix_;        ///< the same where the context computes
};

void InfogainLossLayer::check_matrix(const Shape& h, const std::string& field) const {
  if (h.count() == checked_mul(classes_, classes_)) return;
  const std::string classes = std::to_string(classes_);
  throw FieldError(field,
                   "the infogain matrix has " + std::to_string(h.count()) + " values (" + h.str() +
                       "), but there are " + classes + " classes",
                   "it holds " + classes + " x " + classes);
}

LayerShapes InfogainLossLayer::infer(const std::vector<Shape>& x) {
  const int axis = axis_of(x[0], options_.axis(), "infogain_loss_param.axis");
  outer_ = x[0].count(0, axis), classes_ = x[0][axis], inner_ = x[0].count(axis + 1);
  if (classes_ == 0) throw FieldError("bottom[0]", "its shape is " + x[0].str() + ": there are no classes");
  require_labels(x[0], x[1], rows());
  if (x.size() > 2) {
    check_matrix(x[2], "bottom[2]");
  } else if (opens_source_) {
    BlobFile file = read_blob_file(options_.source());
    check_matrix(file.shape, "infogain_loss_param.source");
    source_ = std::move(file.data);
  }
  return {.y = shows_p_ ? std::vector<Shape>{Shape(), x[0]} : std::vector<Shape>{Shape()}, .w = {}};
}

LayerNeeds InfogainLossLayer::prepare(const PrepareRequest& request, Context& context) {
  constexpr int64_t kFloat = sizeof(float);
  if (request.x.size() == 2) {
    matrix_ = DeviceMemory(context, size_t(classes_ * classes_ * kFloat));
    copy_to_device(context, matrix_.data(), source_.data(), source_.size() * sizeof(float));
  }
  LayerNeeds needs;
  needs.backward_reads_x = {false, true, true};
  needs.backward_reads_x.resize(request.x.size());
  needs.backward_reads_y = {false};
  needs.saved = {(1 + classes_) * kFloat};
  if (shows_p_)
    needs.backward_reads_y.push_back(true);
  else
    needs.saved.push_back(request.x[0].shape.count() * kFloat);
  needs.forward_scratch = (rows() + 2) * kFloat;
  needs.backward_scratch = shows_p_ ? rows() * kFloat : 0;
  return needs;
}

void InfogainLossLayer::forward(Context& context, const Operands& io) {
  const Rows all = rows_of(io);
  if (context.device.is_cpu()) check_labels(all.labels, rows(), inner_);
  float *losses = static_cast<float*>(io.scratch), *sums = losses + rows();
  const auto run = [&](const auto& both) { for_each(context, rows(), both); };
  with_functor<SoftmaxAndJudge>(run, io.x[0], p(io), losses, all);
  reduce_rows(context, classes_, classes_, Gain{all.h, classes_}, gains(io));
  reduce_rows(context, 2, rows(), LossesAndCounts{losses, all.labels}, sums);
  const float fixed = fixed_normalizer(loss_, caffe::LossParameter::VALID, rows(), outer_);
  for_each(context, 1, NormalizeLoss{sums, io.y[0].f32(), normalizer(io), fixed});
}

void InfogainLossLayer::backward(Context& context, const Operands& io) {
  if (!io.dx[0]) return;
  const Rows all = rows_of(io);
  const float* dp = shows_p_ ? io.dy[1].f32() : nullptr;
  float* sums = static_cast<float*>(io.scratch);
  if (dp) for_each(context, rows(), GradientOfP{all.places(), p(io), dp, sums});
  for_each_typed<Backward>(context, io.dx[0], all, p(io), gains(io), io.dy[0].f32(), normalizer(io), dp, sums);
}

const RegisterLayer registered({
    .name = "InfogainLoss",
    .help = "softmax and the log-likelihood of all classes, weighted by a row of a matrix for each label",
    .options = "infogain_loss_param",
    .least_x = 2,
    .most_x = 3,
    .least_y = 1,
    .most_y = 2,
    .make = make_layer<InfogainLossLayer>,
});

}  // namespace

}  // namespace cortado
