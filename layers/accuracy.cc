// Accuracy: the share of samples whose true class is among the top_k best scores, and, as a second top, that share for
// each class apart (0 for a class that does not occur).
//
// A sample is right if fewer than top_k other classes score at least as much as the true one: ties count against it, so
// equal scores everywhere are 0 % right. (NVIDIA's and Intel's Caffe let ties favour the higher class.) NaN scores
// count against it too, where Caffe would call such a sample right. Samples with ignore_label do not count.

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "layers/registry.h"
#include "layers/shape_rules.h"
#include "layers/words.h"

namespace cortado {

namespace {

class AccuracyLayer : public Layer {
 public:
  explicit AccuracyLayer(const LayerOptions& options)
      : param_(options.config.accuracy_param()), per_class_(options.config.top_size() > 1) {}

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  bool differentiable(int) const override { return false; }

 private:
  bool ignored(float label) const { return param_.has_ignore_label() && label == float(param_.ignore_label()); }
  int64_t checked_class(float label, int64_t sample) const;
  bool right(const float* scores, int64_t label) const;

  const caffe::AccuracyParameter& param_;
  bool per_class_;
  int64_t outer_ = 0, classes_ = 0, inner_ = 0;
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
                     "one label for each score vector, e.g. 64 labels for scores of shape 64x10");
  if (param_.top_k() < 1 || int64_t(param_.top_k()) > classes_)
    throw FieldError("accuracy_param.top_k", "top_k is " + std::to_string(param_.top_k()) +
                                                 ", but must lie between 1 and the " +
                                                 count_of(classes_, "class", "classes") + " of bottom[0]");
  LayerShapes shapes{.y = {Shape()}, .w = {}};
  if (per_class_) shapes.y.push_back(Shape{classes_});
  return shapes;
}

LayerNeeds AccuracyLayer::prepare(const PrepareRequest&, Context&) {
  LayerNeeds needs;
  if (per_class_) needs.forward_scratch = checked_mul(2 * classes_, sizeof(int64_t));
  return needs;
}

/// The label as a class number. Throws Error(kData).
int64_t AccuracyLayer::checked_class(float label, int64_t sample) const {
  if (label >= 0 && label < float(classes_)) return int64_t(label);
  throw Error(ExitCode::kData,
              "label " + text_of(label) + " at index " + std::to_string(sample) + " is not one of the " +
                  std::to_string(classes_) + " classes, 0 to " + std::to_string(classes_ - 1),
              "the dataset's labels and the number of classes must fit; ignore_label excludes one value");
}

/// `scores` of one sample, inner_ apart.
bool AccuracyLayer::right(const float* scores, int64_t label) const {
  const float own = scores[label * inner_];
  int64_t as_good = -1;  // the true class itself does not count
  for (int64_t c = 0; c < classes_; ++c) as_good += !(scores[c * inner_] < own);
  return as_good < int64_t(param_.top_k());
}

void AccuracyLayer::forward(Context&, const Operands& io) {
  int64_t* seen = per_class_ ? static_cast<int64_t*>(io.scratch) : nullptr;
  int64_t* right_of = per_class_ ? seen + classes_ : nullptr;
  if (per_class_) std::fill_n(seen, 2 * classes_, 0);
  int64_t samples = 0, all_right = 0;
  const float* labels = io.x[1].f32();
  for (int64_t i = 0; i < outer_ * inner_; ++i) {
    if (ignored(labels[i])) continue;
    const int64_t label = checked_class(labels[i], i);
    const bool is_right = right(io.x[0].f32() + i / inner_ * classes_ * inner_ + i % inner_, label);
    samples += 1;
    all_right += is_right;
    if (!per_class_) continue;
    seen[label] += 1;
    right_of[label] += is_right;
  }
  io.y[0].f32()[0] = samples > 0 ? float(double(all_right) / double(samples)) : 0;
  for (int64_t c = 0; per_class_ && c < classes_; ++c)
    io.y[1].f32()[c] = seen[c] > 0 ? float(double(right_of[c]) / double(seen[c])) : 0;
}

const RegisterLayer registered({
    .name = "Accuracy",
    .help = "share of samples whose true class is among the best scores",
    .options = "accuracy_param",
    .least_x = 2,
    .most_x = 2,
    .least_y = 1,
    .most_y = 2,
    .make = make_layer<AccuracyLayer>,
});

}  // namespace

}  // namespace cortado
