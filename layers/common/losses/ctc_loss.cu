#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/loops/for_each.h"
#include "core/text/text.h"
#include "kernels/scratch.h"
#include "layers/common/losses/class_labels.h"
#include "layers/common/losses/ctc_loss.h"

namespace cortado {

namespace {

constexpr int64_t kDoubleBytes = sizeof(double);

/// Replaces the number of labels that count.
enum Unusable : int32_t { kNoLabel = -1, kTooLong = -2 };

/// The labels of each sequence that count, contiguous.
struct Compact {
  ClassLabels labels;
  int64_t width, steps, blank;
  int32_t *kept, *counts;

  CORTADO_HD void operator()(int64_t n) const {
    int32_t* own = kept + n * width;
    int32_t count = 0, repeats = 0;
    for (int64_t i = n * width; i < (n + 1) * width; ++i) {
      if (!labels.valid(i)) {
        counts[n] = kNoLabel;
        return;
      }
      if (labels.at(i) == blank) continue;
      if (count > 0 && own[count - 1] == labels.at(i)) ++repeats;
      own[count++] = int32_t(labels.at(i));
    }
    counts[n] = int64_t(count) + repeats <= steps ? count : int32_t(kTooLong);
  }
};

/// For reduce_rows with one element per row: one thread for each row.
struct Largest {
  const float* x;
  int64_t classes;
  CORTADO_HD float operator()(int64_t row, int64_t) const {
    const float* own = x + row * classes;
    float largest = own[0];
    for (int64_t c = 1; c < classes; ++c) largest = own[c] > largest || own[c] != own[c] ? own[c] : largest;
    return largest;
  }
};

struct Exponential {
  const float *x, *largest;
  int64_t classes;
  CORTADO_HD float operator()(int64_t row, int64_t c) const { return expf(x[row * classes + c] - largest[row]); }
};

/// log(e^a + e^b + e^c), also for -infinity.
CORTADO_HD inline double log_sum(double a, double b, double c) {
  double largest = a > b ? a : b;
  if (c > largest) largest = c;
  if (largest == -INFINITY) return largest;
  return largest + log(exp(a - largest) + exp(b - largest) + exp(c - largest));
}

/// The recursion over all paths of one sequence. State s is label (s - 1) / 2 if s is odd, a blank if it is even.
struct Paths {
  const float *x, *largest, *sums;
  const int32_t *kept, *counts;
  int64_t steps, sequences, classes, width, blank;
  double *alpha, *beta;  ///< per sequence: (steps or 1) x states, and states
  float* share;          ///< per sequence, step and state, the probability that the path is there; null: not needed

  /// The loss of sequence n; for reduce_rows with one element per row.
  CORTADO_HD float operator()(int64_t n, int64_t) const {
    if (counts[n] == kNoLabel) return NAN;
    if (counts[n] == kTooLong) return 0;
    const double all = walk_forward(n);
    if (share) walk_backward(n, all);
    return float(-all);
  }

  CORTADO_HD int64_t stride() const { return 2 * width + 1; }
  CORTADO_HD int64_t states(int64_t n) const { return 2 * int64_t(counts[n]) + 1; }
  CORTADO_HD int64_t label(int64_t n, int64_t s) const { return s % 2 == 0 ? blank : kept[n * width + s / 2]; }
  /// Whether a path may go to s from s - 2.
  CORTADO_HD bool skips(int64_t n, int64_t s) const { return s >= 2 && s % 2 == 1 && label(n, s) != label(n, s - 2); }
  CORTADO_HD double log_probability(int64_t n, int64_t t, int64_t s) const {
    const int64_t row = t * sequences + n;
    return double(x[row * classes + label(n, s)]) - double(largest[row]) - log(double(sums[row]));
  }
  CORTADO_HD double* alpha_at(int64_t n, int64_t t) const { return alpha + (share ? n * steps + t : n) * stride(); }

  /// Leaves in alpha the paths that are in a state at a step; without `share` in a single row, updated from the last
  /// state down.
  CORTADO_HD double walk_forward(int64_t n) const {
    const int64_t count = states(n);
    for (int64_t s = 0; s < count; ++s) alpha_at(n, 0)[s] = s < 2 ? log_probability(n, 0, s) : -INFINITY;
    for (int64_t t = 1; t < steps; ++t) {
      const double* before = alpha_at(n, t - 1);
      double* now = alpha_at(n, t);
      for (int64_t s = count - 1; s >= 0; --s)
        now[s] = log_probability(n, t, s) +
                 log_sum(before[s], s >= 1 ? before[s - 1] : -INFINITY, skips(n, s) ? before[s - 2] : -INFINITY);
    }
    const double* last = alpha_at(n, steps - 1);
    return log_sum(last[count - 1], count >= 2 ? last[count - 2] : -INFINITY, -INFINITY);
  }

  /// beta: the probability of all continuations from a state, without the current step.
  CORTADO_HD void walk_backward(int64_t n, double all) const {
    const int64_t count = states(n);
    double* own = beta + n * stride();
    for (int64_t s = 0; s < count; ++s) own[s] = s + 2 >= count ? 0 : -INFINITY;
    write_share(n, steps - 1, own, all);
    for (int64_t t = steps - 2; t >= 0; --t) {
      for (int64_t s = 0; s < count; ++s) own[s] += log_probability(n, t + 1, s);
      for (int64_t s = 0; s < count; ++s)
        own[s] = log_sum(own[s], s + 1 < count ? own[s + 1] : -INFINITY,
                         s + 2 < count && skips(n, s + 2) ? own[s + 2] : -INFINITY);
      write_share(n, t, own, all);
    }
  }

  CORTADO_HD void write_share(int64_t n, int64_t t, const double* own, double all) const {
    float* to = share + (n * steps + t) * stride();
    for (int64_t s = 0; s < states(n); ++s) {
      const double of_path = alpha_at(n, t)[s] + own[s];
      to[s] = of_path == -INFINITY ? 0 : float(exp(of_path - all));
    }
  }
};

struct CtcLossScaled {
  const float* losses;
  float scale;
  CORTADO_HD float operator()(int64_t, int64_t n) const { return scale * losses[n]; }
};

/// dx of a sequence without paths: the probability.
struct Probability {
  const float *x, *largest, *sums;
  const int32_t* counts;
  int64_t classes, sequences;
  const float* dy;  ///< one value
  float scale;
  float* dx;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const bool usable = counts[row % sequences] >= 0;
    dx[i] = usable ? dy[0] * scale * expf(x[i] - largest[row]) / sums[row] : 0;
  }
};

/// Subtracts the probability that a path is in each state, for each row.
struct LessShare {
  const float* share;
  const int32_t *kept, *counts;
  int64_t steps, sequences, classes, width, blank;
  const float* dy;
  float scale;
  float* dx;
  CORTADO_HD void operator()(int64_t row) const {
    const int64_t t = row / sequences, n = row % sequences, states = 2 * int64_t(counts[n]) + 1;
    const float* own = share + (n * steps + t) * (2 * width + 1);
    float blanks = 0;
    for (int64_t s = 0; s < states; s += 2) blanks += own[s];
    for (int64_t s = 1; s < states; s += 2) dx[row * classes + kept[n * width + s / 2]] -= dy[0] * scale * own[s];
    if (states > 0) dx[row * classes + blank] -= dy[0] * scale * blanks;
  }
};

}  // namespace

/// The memory of one call.
struct CtcLossLayer::Parts {
  float *largest, *sums;   ///< of each row: the largest score, and the sum of exponentials relative to it
  int32_t *kept, *counts;  ///< labels that count, and their number
  float* share;
  float* losses;
  double *alpha, *beta;
};

LayerShapes CtcLossLayer::infer(const std::vector<Shape>& x) {
  if (x[0].axes() < 3 || x[0][0] == 0 || x[0].count(2) == 0)
    throw FieldError("bottom[0]", "its shape is " + x[0].str() + ", but scores must be steps x sequences x classes");
  steps_ = x[0][0], sequences_ = x[0][1], classes_ = x[0].count(2);
  if (classes_ > INT32_MAX || (x[1].axes() > 0 && x[1].count(1) >= INT32_MAX / 2))
    throw FieldError("bottom[0]", "it has too many classes or labels");
  require_sequence_labels(x[0], sequences_, x[1]);
  width_ = x[1].count(1);
  const auto require = [&x](uint32_t told, int64_t extent, const std::string& name, const std::string& what) {
    if (told != 0 && told != extent)
      throw FieldError("ctc_loss_param." + name,
                       name + " is " + std::to_string(told) + ", but bottom[0] is " + x[0].str() + ": it has " +
                           std::to_string(extent) + " " + what,
                       "remove it, or correct the layer with the top that is bottom[0]");
  };
  require(param_.alphabet_size(), classes_, "alphabet_size", "classes");
  require(param_.time_step(), steps_, "time_step", "steps");
  if (param_.blank_label() < 0 || param_.blank_label() >= classes_)
    throw FieldError(param_.has_blank_label() ? "ctc_loss_param.blank_label" : "ctc_loss_param",
                     "blank_label is " + std::to_string(param_.blank_label()) + ", but there are " +
                         count_of(classes_, "class", "classes"),
                     "set it to the class of a step without a label");
  return {.y = {Shape()}, .w = {}};
}

LayerNeeds CtcLossLayer::prepare(const PrepareRequest& request, Context&) {
  learns_ = request.backward;
  const int64_t all_states = checked_mul(sequences_, states());
  LayerNeeds needs;
  needs.backward_reads_x = {true, false};
  needs.saved = {checked_mul(2 * rows(), kFloatBytes), (sequences_ * width_ + sequences_) * int64_t(sizeof(int32_t)),
                 learns_ ? checked_mul(checked_mul(all_states, steps_), kFloatBytes) : 0};
  kernels::ScratchLayout scratch;
  scratch_[0] = scratch.add(checked_mul(checked_mul(all_states, learns_ ? steps_ : 1), kDoubleBytes));
  scratch_[1] = scratch.add(learns_ ? all_states * kDoubleBytes : 0);
  scratch_[2] = scratch.add(sequences_ * kFloatBytes);
  needs.forward_scratch = scratch.bytes();
  return needs;
}

CtcLossLayer::Parts CtcLossLayer::parts(const Operands& io) const {
  float* largest = static_cast<float*>(io.saved[0]);
  int32_t* kept = static_cast<int32_t*>(io.saved[1]);
  const auto part = [&](int i) { return kernels::scratch_part(io.scratch, scratch_[i]); };
  return {largest,
          largest + rows(),
          kept,
          kept + sequences_ * width_,
          static_cast<float*>(io.saved[2]),
          static_cast<float*>(part(2)),
          static_cast<double*>(part(0)),
          static_cast<double*>(part(1))};
}

void CtcLossLayer::forward(Context& context, const Operands& io) {
  const Parts p = parts(io);
  const float* x = io.x[0].f32();
  const int64_t blank = param_.blank_label();
  for_each(context, sequences_, Compact{{io.x[1].f32(), classes_}, width_, steps_, blank, p.kept, p.counts});
  reduce_rows(context, rows(), 1, Largest{x, classes_}, p.largest);
  reduce_rows(context, rows(), classes_, Exponential{x, p.largest, classes_}, p.sums);
  const Paths paths{x,
                    p.largest,
                    p.sums,
                    p.kept,
                    p.counts,
                    steps_,
                    sequences_,
                    classes_,
                    width_,
                    blank,
                    p.alpha,
                    p.beta,
                    learns_ ? p.share : nullptr};
  reduce_rows(context, sequences_, 1, paths, p.losses);
  reduce_rows(context, 1, sequences_, CtcLossScaled{p.losses, scale()}, io.y[0].f32());
}

void CtcLossLayer::backward(Context& context, const Operands& io) {
  if (!io.dx[0]) return;
  const Parts p = parts(io);
  const float* dy = io.dy[0].f32();
  float* dx = io.dx[0].f32();
  for_each_channel(context, {1, rows(), classes_, Layout::kPlain},
                   Probability{io.x[0].f32(), p.largest, p.sums, p.counts, classes_, sequences_, dy, scale(), dx});
  for_each(context, rows(),
           LessShare{p.share, p.kept, p.counts, steps_, sequences_, classes_, width_, param_.blank_label(), dy, scale(),
                     dx});
}

void CtcLossLayer::validate(Context& context, const Operands& io) {
  validate_labels(context, io.x[1], {nullptr, classes_}, std::max(width_, int64_t(1)),
                  "pad a sequence with fewer labels with ctc_loss_param.blank_label");
}

int64_t CtcLossLayer::flops(const std::vector<Shape>& x, const std::vector<Shape>&) const {
  return 4 * x[0].count() + 20 * rows() * states();
}

}  // namespace cortado
