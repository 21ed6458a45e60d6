#include "core/error.h"
#include "core/loops/for_each.h"
#include "core/text/text.h"
#include "layers/common/losses/best_path.h"
#include "layers/common/losses/class_labels.h"

namespace cortado {

namespace {

/// For reduce_rows with one element per row: one thread for each row.
struct BestClass {
  const float* x;
  int64_t classes;
  CORTADO_HD float operator()(int64_t row, int64_t) const {
    const float* own = x + row * classes;
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c)
      if (own[c] > own[best]) best = c;
    return float(best);
  }
};

/// The best classes of each sequence.
struct BestPaths {
  const float* best;
  int64_t steps, to_step, to_sequence;  ///< strides of a step and of a sequence
  float blank;
  bool merges;

  /// The next label from step t on; advances t past it. Below 0: none.
  CORTADO_HD float next(int64_t n, int64_t& t) const {
    const float* own = best + n * to_sequence;
    while (t < steps) {
      const float c = own[t * to_step];
      const bool repeats = merges && t > 0 && c == own[(t - 1) * to_step];
      ++t;
      if (c != blank && !repeats) return c;
    }
    return -1;
  }
};

/// The labels of sequence n, then -1.
struct Decode {
  BestPaths paths;
  float* y;
  CORTADO_HD void operator()(int64_t n) const {
    int64_t t = 0;
    for (int64_t i = 0; i < paths.steps; ++i) y[n * paths.steps + i] = paths.next(n, t);
  }
};

/// 1 if the labels of sequence n are correct.
struct IsRight {
  BestPaths paths;
  const float* labels;
  int64_t width;
  CORTADO_HD float operator()(int64_t, int64_t n) const {
    int64_t t = 0;
    for (int64_t i = n * width; i < (n + 1) * width; ++i)
      if (labels[i] != paths.blank && labels[i] != paths.next(n, t)) return 0;
    return paths.next(n, t) < 0 ? 1 : 0;
  }
};

struct BestPathDivide {
  float* y;
  float by;
  CORTADO_HD void operator()(int64_t) const { y[0] /= by; }
};

}  // namespace

LayerShapes BestPathLayer::infer_paths(const std::vector<Shape>& x, bool steps_first, int64_t blank,
                                       const std::string& field) {
  if (x[0].axes() < 3 || x[0].count(2) == 0)
    throw FieldError("bottom[0]", "its shape is " + x[0].str() + "; scores are " +
                                      (steps_first ? "steps x sequences" : "sequences x steps") + " x classes");
  steps_first_ = steps_first;
  steps_ = x[0][steps_first ? 0 : 1], sequences_ = x[0][steps_first ? 1 : 0], classes_ = x[0].count(2);
  blank_ = blank < 0 ? classes_ - 1 : blank;
  if (blank_ >= classes_)
    throw FieldError(field, "the blank is class " + std::to_string(blank_) + ", but there are " +
                                count_of(classes_, "class", "classes"));
  constexpr int64_t kMaxClasses = 1 << 24;  // the largest integer range that a float represents exactly
  if (classes_ > kMaxClasses) throw FieldError("bottom[0]", std::to_string(classes_) + " classes are too many");
  compares_ = x.size() > 1;
  if (!compares_) return {.y = {{sequences_, steps_}}, .w = {}};
  require_sequence_labels(x[0], sequences_, x[1]);
  width_ = x[1].count(1);
  return {.y = {Shape()}, .w = {}};
}

LayerNeeds BestPathLayer::prepare(const PrepareRequest&, Context&) {
  LayerNeeds needs;
  needs.forward_scratch = checked_mul(steps_ * sequences_, sizeof(float));
  return needs;
}

void BestPathLayer::forward(Context& context, const Operands& io) {
  float *best = static_cast<float*>(io.scratch), *y = io.y[0].f32();
  reduce_rows(context, steps_ * sequences_, 1, BestClass{io.x[0].f32(), classes_}, best);
  const int64_t to_step = steps_first_ ? sequences_ : 1, to_sequence = steps_first_ ? 1 : steps_;
  const BestPaths paths{best, steps_, to_step, to_sequence, float(blank_), merges_};
  if (!compares_) return for_each(context, sequences_, Decode{paths, y});
  reduce_rows(context, 1, sequences_, IsRight{paths, io.x[1].f32(), width_}, y);
  if (sequences_ > 0) for_each(context, 1, BestPathDivide{y, float(sequences_)});
}

}  // namespace cortado
