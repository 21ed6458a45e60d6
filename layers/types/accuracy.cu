// Accuracy: the fraction of samples whose true class is among the top_k best scores and, as a second top, that fraction
// for each class (0 for a class without samples). With min_is_better (NormFace) the smallest scores are the best.
//
// A sample is correct if fewer than top_k other classes score at least as much as the true one. Ties count against it,
// so constant scores have accuracy 0. (NVIDIA's and Intel's Caffe resolve ties in favour of the higher class.) NaN
// scores count against it, too; Caffe counts such a sample as correct. Samples with ignore_label are ignored.

#include <cmath>
#include <vector>

#include "core/device/device_memory.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/typed.h"
#include "layers/common/losses/class_labels.h"
#include "layers/common/losses/class_notes.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// For each sample: 1 if it counts, and 1 if it is correct (NaN: its label is not a class).
template <typename T>
struct Judge {
  const T* scores;
  ClassLabels labels;
  int64_t inner, top_k;
  bool smallest;  ///< the smallest scores are the best
  float *right, *counted;

  CORTADO_HD void operator()(int64_t r) const {
    counted[r] = labels.counts(r) ? 1 : 0;
    right[r] = !labels.counts(r) ? 0 : labels.valid(r) ? is_right(r) : NAN;
  }
  CORTADO_HD float is_right(int64_t r) const {
    const T* own_scores = scores + r / inner * labels.classes * inner + r % inner;
    const float own = own_scores[labels.at(r) * inner];
    int64_t as_good = -1;  // the true class itself does not count
    for (int64_t c = 0; c < labels.classes; ++c) {
      const float score = own_scores[c * inner];
      as_good += smallest ? !(score > own) : !(score < own);
    }
    return as_good < top_k ? 1 : 0;
  }
};

/// Row 0 sums the correct samples, row 1 those that count.
struct Verdicts {
  const float* verdicts;
  int64_t samples;
  CORTADO_HD float operator()(int64_t k, int64_t i) const { return verdicts[k * samples + i]; }
};

/// The same for each class: first the correct samples, then those that count.
struct VerdictsOfClass {
  ClassLabels labels;
  const float* verdicts;
  int64_t samples;
  CORTADO_HD float operator()(int64_t k, int64_t i) const {
    const int64_t c = k % labels.classes;
    const bool here = labels.counts(i) && labels.valid(i) && labels.at(i) == c;
    return here ? verdicts[k / labels.classes * samples + i] : 0;
  }
};

/// The `n` fractions; `sums` has the numerators and denominators.
struct AccuracyShare {
  const float* sums;
  int64_t n;
  float* y;
  CORTADO_HD void operator()(int64_t c) const { y[c] = sums[n + c] > 0 ? sums[c] / sums[n + c] : 0; }
};

class AccuracyLayer : public Layer, public ReadsClasses, public Scoring {
 public:
  explicit AccuracyLayer(const LayerOptions& options)
      : param_(options.config.accuracy_param()), per_class_(options.config.top_size() > 1) {}

  LayerShapes infer(const std::vector<Shape>& x) override;
  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }
  LayerRoles roles() override { return {.scoring = this, .classes = this}; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void validate(Context& context, const Operands& io) override;
  bool differentiable(int) const override { return false; }
  std::optional<ClassLabels> class_labels() const override {
    return ClassLabels{nullptr, classes_, param_.has_ignore_label(), float(param_.ignore_label())};
  }
  Ratio quotient(size_t k) const override { return {.sums = sums(k)}; }
  int64_t note_classes(Context& context) override {
    notes_.start(context, samples());
    return classes_;
  }
  PredictedClasses predictions() const override { return notes_.judged(); }

 private:
  int64_t samples() const { return outer_ * inner_; }
  ClassLabels labels(const float* values) const {
    return {values, classes_, param_.has_ignore_label(), float(param_.ignore_label()), /*whole=*/false};
  }
  /// Of y[k]: the number of correct samples, and the number that count.
  float* sums(size_t k) const { return reinterpret_cast<float*>(sums_.data()) + 2 * k; }

  const caffe::AccuracyParameter& param_;
  bool per_class_;
  int64_t outer_ = 0, classes_ = 0, inner_ = 0;
  DeviceMemory sums_;
  ClassNotes notes_;
};

LayerShapes AccuracyLayer::infer(const std::vector<Shape>& x) {
  const int axis = axis_of(x[0], param_.axis(), "accuracy_param.axis");
  outer_ = x[0].count(0, axis);
  classes_ = x[0][axis];
  inner_ = x[0].count(axis + 1);
  if (x[1].count() != outer_ * inner_)
    throw FieldError("bottom[1]",
                     "it has " + count_of(x[1].count(), "label", "labels") + ", but the scores of shape " + x[0].str() +
                         " with classes along axis " + std::to_string(axis) + " need " +
                         std::to_string(outer_ * inner_),
                     "give one label for each score vector, for example 64 labels for scores of shape 64x10");
  if (param_.top_k() < 1 || int64_t(param_.top_k()) > classes_)
    throw FieldError("accuracy_param.top_k", "top_k is " + std::to_string(param_.top_k()) +
                                                 ", but must lie between 1 and the " +
                                                 count_of(classes_, "class", "classes") + " of bottom[0]");
  LayerShapes shapes{.y = {Shape()}, .w = {}};
  if (per_class_) shapes.y.push_back(Shape{classes_});
  return shapes;
}

LayerNeeds AccuracyLayer::prepare(const PrepareRequest&, Context& context) {
  LayerNeeds needs;
  needs.forward_scratch = checked_mul(2 * samples(), sizeof(float));
  sums_ = DeviceMemory(context, size_t(2 * (1 + (per_class_ ? classes_ : 0))) * sizeof(float));
  return needs;
}

void AccuracyLayer::validate(Context& context, const Operands& io) {
  validate_labels(context, io.x[1], labels(nullptr), inner_,
                  "match num_output with the dataset's labels; ignore_label excludes one value");
}

void AccuracyLayer::forward(Context& context, const Operands& io) {
  const ClassLabels labels = this->labels(io.x[1].f32());
  float *right = static_cast<float*>(io.scratch), *counted = right + samples();
  const auto judge = [&](const auto& functor) { for_each(context, samples(), functor); };
  with_functor<Judge>(judge, io.x[0], labels, inner_, int64_t(param_.top_k()), param_.min_is_better(), right, counted);
  note(context, notes_, io.x[0], labels, inner_);
  reduce_rows(context, 2, samples(), Verdicts{right, samples()}, sums(0));
  for_each(context, 1, AccuracyShare{sums(0), 1, io.y[0].f32()});
  if (!per_class_) return;
  reduce_rows(context, 2 * classes_, samples(), VerdictsOfClass{labels, right, samples()}, sums(1));
  for_each(context, classes_, AccuracyShare{sums(1), classes_, io.y[1].f32()});
}

const RegisterLayer register_accuracy({
    .name = "Accuracy",
    .help = "fraction of samples whose true class is among the best scores",
    .options = "accuracy_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<AccuracyLayer>,
    .kind = LayerKind::kScore,
    .higher_is_better = true,
});

}  // namespace

}  // namespace cortado
