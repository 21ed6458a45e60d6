// PairwiseLoss (HashNet, Cao et al. 2017): trains codes a and b of samples to be similar if their labels are. Over all
// pairs of a row of the first bottom and one of the third
//     d = sigmoid_param <a, b>,   loss = l_lambda sum of w (log(1 + e^d) - s d) / sum of w
// where s = 1 for similar pairs, 0 for others; for d above l_threshold the loss of a pair is (1 - s) d. w is 1; for
// similar pairs it is class_num, with continous_similarity times the fraction of common labels, |A and B| / |A or B|.
// Labels (second and fourth bottom) have one number for each class, above 0 if the sample is of that class. Pairs with
// a common class are similar. A label of one number is the class itself.
//
// The formula and the divisor are those of HashNet's PyTorch program, by its authors; the fraction of common labels is
// from their paper. Two points of their Caffe layer are unknown: its divisor, and the meaning of q_threshold, which has
// no effect here.

#include <cmath>

#include "core/error.h"
#include "core/loops/for_each.h"
#include "core/text/text.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct PairwiseLossRule {
  float factor, threshold, alike_weight;
  bool by_share;
};

/// The similarity of two samples, from their labels.
struct Likeness {
  const float *a, *b;
  int64_t classes;

  /// The fraction of their classes that both have.
  CORTADO_HD float share() const {
    if (classes == 1) return *a == *b ? 1 : 0;
    float both = 0, either = 0;
    for (int64_t c = 0; c < classes; ++c) {
      both += a[c] > 0 && b[c] > 0 ? 1 : 0;
      either += a[c] > 0 || b[c] > 0 ? 1 : 0;
    }
    return both > 0 ? both / either : 0;
  }
};

/// Pair i: its weighted loss, its weight, and the derivative of the loss with respect to the product of its codes.
struct JudgePair {
  const float *a, *b, *labels_a, *labels_b;
  int64_t columns, width, classes;  ///< rows of b, lengths of a code and of a label
  PairwiseLossRule rule;
  float *losses, *weights, *slopes;

  CORTADO_HD float product(int64_t row, int64_t column) const {
    float sum = 0;
    for (int64_t k = 0; k < width; ++k) sum += a[row * width + k] * b[column * width + k];
    return rule.factor * sum;
  }
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t row = i / columns, column = i - row * columns;
    const float share = Likeness{labels_a + row * classes, labels_b + column * classes, classes}.share();
    const float s = share > 0 ? 1 : 0, d = product(row, column);
    const float weight = share > 0 ? rule.alike_weight * (rule.by_share ? share : 1) : 1;
    const bool far = d > rule.threshold;
    const float log_term = (d > 0 ? d : 0) + log1pf(expf(-fabsf(d)));  // log(1 + e^d)
    losses[i] = weight * (far ? (1 - s) * d : log_term - s * d);
    weights[i] = weight;
    slopes[i] = weight * rule.factor * (far ? 1 - s : 1 / (1 + expf(-d)) - s);
  }
};

/// For reduce_rows.
struct LossAndWeight {
  const float *losses, *weights;
  CORTADO_HD float operator()(int64_t k, int64_t i) const { return k == 0 ? losses[i] : weights[i]; }
};

struct PairwiseLossDivide {
  const float* sums;
  float factor;
  float *loss, *scale;
  CORTADO_HD void operator()(int64_t) const {
    *scale = sums[1] > 0 ? factor / sums[1] : 0;
    *loss = sums[0] * *scale;
  }
};

/// The gradient of one element of a code, from the codes of the other side.
struct PairwiseLossBackward {
  const float *slopes, *others, *dy, *scale;
  float* dx;
  int64_t width, count;              ///< length of a code, number of other codes
  int64_t of_this_step, other_step;  ///< strides of `slopes` along this side, and along the other
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t row = i / width, k = i - row * width;
    float sum = 0;
    for (int64_t j = 0; j < count; ++j) sum += slopes[row * of_this_step + j * other_step] * others[j * width + k];
    dx[i] = dy[0] * *scale * sum;
  }
};

class PairwiseLossLayer : public Layer {
 public:
  explicit PairwiseLossLayer(const LayerOptions& options) : options_(options.config.pairwise_param()) {
    const auto require = [](bool good, const std::string& field, float value, const std::string& what) {
      if (!good) throw FieldError("pairwise_param." + field, field + " is " + to_text(value) + ", but " + what);
    };
    require(!std::isnan(options_.l_threshold()), "l_threshold", options_.l_threshold(), "must be a number");
    require(std::isfinite(options_.l_lambda()), "l_lambda", options_.l_lambda(), "must be a number");
    require(std::isfinite(options_.sigmoid_param()), "sigmoid_param", options_.sigmoid_param(), "must be a number");
    require(options_.class_num() > 0 && std::isfinite(options_.class_num()), "class_num", options_.class_num(),
            "must be above 0");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    for (const Shape& shape : x) require_axes(shape, 1);
    rows_ = x[0][0], columns_ = x[2][0], width_ = x[0].count(1), classes_ = x[1].count(1);
    if (x[2].count(1) != width_)
      throw FieldError("bottom[2]",
                       "its shape is " + x[2].str() + ", but bottom[0] has " + x[0].str() + ": codes differ in length");
    if (classes_ == 0) throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", so labels are empty");
    require_labels(x[1], 1, rows_);
    require_labels(x[3], 3, columns_);
    return {.y = {Shape()}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true, false, true, false};
    needs.saved = {(pairs() + 1) * kFloatBytes};
    needs.forward_scratch = (2 * pairs() + 2) * kFloatBytes;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    float *losses = static_cast<float*>(io.scratch), *weights = losses + pairs(), *sums = weights + pairs();
    const PairwiseLossRule rule{options_.sigmoid_param(), options_.l_threshold(), options_.class_num(),
                                options_.continous_similarity()};
    for_each(context, pairs(),
             JudgePair{io.x[0].f32(), io.x[2].f32(), io.x[1].f32(), io.x[3].f32(), columns_, width_, classes_, rule,
                       losses, weights, slopes(io)});
    reduce_rows(context, 2, pairs(), LossAndWeight{losses, weights}, sums);
    for_each(context, 1, PairwiseLossDivide{sums, options_.l_lambda(), io.y[0].f32(), scale(io)});
  }

  void backward(Context& context, const Operands& io) override {
    const float* dy = io.dy[0].f32();
    if (io.dx[0])
      for_each(context, rows_ * width_,
               PairwiseLossBackward{slopes(io), io.x[2].f32(), dy, scale(io), io.dx[0].f32(), width_, columns_,
                                    columns_, 1});
    if (io.dx[2])
      for_each(
          context, columns_ * width_,
          PairwiseLossBackward{slopes(io), io.x[0].f32(), dy, scale(io), io.dx[2].f32(), width_, rows_, 1, columns_});
  }

  bool differentiable(int i) const override { return i == 0 || i == 2; }
  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override {
    return 2 * pairs() * (width_ + classes_);
  }

 private:
  void require_labels(const Shape& labels, size_t bottom, int64_t samples) const {
    if (labels[0] != samples || labels.count(1) != classes_)
      throw FieldError(entry("bottom", int64_t(bottom)),
                       "its shape is " + labels.str() + ", but there are " + std::to_string(samples) +
                           " codes, and labels of " + count_of(classes_, "number", "numbers"),
                       "set one label for each code, all of the same length");
  }
  int64_t pairs() const { return rows_ * columns_; }
  static float* scale(const Operands& io) { return static_cast<float*>(io.saved[0]); }
  static float* slopes(const Operands& io) { return scale(io) + 1; }

  const caffe::PairwiseParameter& options_;
  int64_t rows_ = 0, columns_ = 0, width_ = 0, classes_ = 0;
};

const RegisterLayer register_pairwise_loss({
    .name = "PairwiseLoss",
    .help = "makes codes of samples with a common class similar, others dissimilar",
    .options = "pairwise_param",
    .min_bottoms = 4,
    .max_bottoms = 4,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<PairwiseLossLayer>,
    .loss = LossRole{.judged = {0, 2}},
});

}  // namespace

}  // namespace cortado
