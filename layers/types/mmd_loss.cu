// MMDLoss (deep adaptation networks, Long et al. 2015): the maximum mean discrepancy of two sets of features, the rows
// of the two bottoms. With the kernel K(u, v) = sum of exp(-g_i |u - v|^2) over i < kernel_num,
//     y = mean of K over pairs of different rows of the first bottom + the same of the second
//         - 2 mean of K over pairs of a row of each.
// g_i = g kernel_mul^(i - kernel_num / 2), where 1 / g is the mean squared distance of two rows of both bottoms
// together. g has no gradient. With fix_gamma the first batch's g stays, in a weight that solvers do not update.
//
// The fork (transfer-caffe) draws pairs at random, in each pass as many as rows. This is the mean over all pairs, its
// expected value. The fork's top is also larger, by the number of rows; its gradients are not.

#include <cmath>

#include "core/error.h"
#include "core/loops/for_each.h"
#include "core/text/text.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr uint32_t kMaxKernels = 64;

/// The rows of both bottoms, those of the first before those of the second.
struct MmdRows {
  const float *first, *second;
  int64_t split, count, width;  ///< rows of the first bottom, of both; numbers in a row

  CORTADO_HD const float* at(int64_t row) const {
    return row < split ? first + row * width : second + (row - split) * width;
  }
  /// The weight of a pair of different rows. All weights of a kind add up to 1, or -2 for rows of both bottoms.
  CORTADO_HD float weight(int64_t i, int64_t j) const {
    const float n = float(split), m = float(count - split);
    if ((i < split) != (j < split)) return -1 / (n * m);
    return i < split ? 1 / (n * (n - 1)) : 1 / (m * (m - 1));
  }
};

struct MmdDistances {
  MmdRows rows;
  float* squares;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t row = i / rows.count, column = i - row * rows.count;
    const float *a = rows.at(row), *b = rows.at(column);
    float sum = 0;
    for (int64_t k = 0; k < rows.width; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
    squares[i] = sum;
  }
};

/// For reduce_rows.
struct MmdSum {
  const float* values;
  CORTADO_HD float operator()(int64_t, int64_t i) const { return values[i]; }
};

/// The inverse of the mean squared distance; 0 if all rows are equal.
struct MmdGamma {
  const float* sum;
  float pairs;
  float *stored, *gamma;  ///< stored: null, or 0 before the first batch
  bool stores;
  CORTADO_HD void operator()(int64_t) const {
    const float found = *sum == 0 ? 0 : pairs / *sum;
    if (stored && stores && *stored == 0) *stored = found;
    *gamma = stored && *stored != 0 ? *stored : found;
  }
};

/// The part of pair i in the loss, and the factor of the difference of its rows in the gradient of the first.
struct MmdPairs {
  MmdRows rows;
  const float *squares, *gamma;
  uint32_t kernels;
  float ratio;
  float *losses, *slopes;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t row = i / rows.count, column = i - row * rows.count;
    float kernel = 0, slope = 0;
    if (row != column) {
      float g = *gamma / powf(ratio, float(kernels / 2));
      for (uint32_t k = 0; k < kernels; ++k, g *= ratio) {
        const float value = expf(-g * squares[i]);
        kernel += value;
        slope -= g * value;
      }
    }
    const float weight = row == column ? 0 : rows.weight(row, column);
    losses[i] = weight * kernel;
    slopes[i] = 4 * weight * slope;  // each pair is counted twice, and the square has a factor of 2
  }
};

struct MmdBackward {
  MmdRows rows;
  const float *slopes, *dy;
  int64_t begin;  ///< the first row of this bottom
  float* dx;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t row = begin + i / rows.width, k = i % rows.width;
    const float own = rows.at(row)[k];
    float sum = 0;
    for (int64_t j = 0; j < rows.count; ++j) sum += slopes[row * rows.count + j] * (own - rows.at(j)[k]);
    dx[i] = dy[0] * sum;
  }
};

class MmdLossLayer : public Layer {
 public:
  explicit MmdLossLayer(const LayerOptions& options)
      : options_(options.config.mmd_param()), training_(options.phase == caffe::TRAIN) {
    if (options_.kernel_num() == 0 || options_.kernel_num() > kMaxKernels)
      throw FieldError("mmd_param.kernel_num", "kernel_num is " + std::to_string(options_.kernel_num()) +
                                                   ", but must lie between 1 and " + std::to_string(kMaxKernels));
    if (!(options_.kernel_mul() > 0 && std::isfinite(options_.kernel_mul())))
      throw FieldError("mmd_param.kernel_mul",
                       "kernel_mul is " + to_text(options_.kernel_mul()) + ", but must be above 0");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    for (size_t i = 0; i < 2; ++i) {
      require_axes(x[i], 1);
      if (x[i][0] < 2)
        throw FieldError(entry("bottom", int64_t(i)),
                         "its shape is " + x[i].str() + ", but a mean over pairs needs at least 2 rows",
                         "increase the batch size");
    }
    width_ = x[0].count(1), split_ = x[0][0], count_ = split_ + x[1][0];
    if (x[1].count(1) != width_)
      throw FieldError("bottom[1]",
                       "its shape is " + x[1].str() + ", but bottom[0] has " + x[0].str() + ": rows differ in length");
    pairs_ = checked_mul(count_, count_);
    checked_mul(pairs_, kFloatBytes);
    LayerShapes shapes{.y = {Shape()}, .w = {}};
    if (options_.fix_gamma()) shapes.w.push_back({.shape = {1}, .filler = {}, .learned = false});
    return shapes;
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true, true};
    needs.saved = {pairs_ * kFloatBytes};
    needs.forward_scratch = (pairs_ + 2) * kFloatBytes;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    float *losses = static_cast<float*>(io.scratch), *sum = losses + pairs_, *gamma = sum + 1;
    for_each(context, pairs_, MmdDistances{rows(io), slopes(io)});
    reduce_rows(context, 1, pairs_, MmdSum{slopes(io)}, sum);
    float* stored = options_.fix_gamma() ? io.w[0].f32() : nullptr;
    for_each(context, 1, MmdGamma{sum, float(pairs_ - count_), stored, gamma, training_});
    for_each(context, pairs_,
             MmdPairs{rows(io), slopes(io), gamma, options_.kernel_num(), options_.kernel_mul(), losses, slopes(io)});
    reduce_rows(context, 1, pairs_, MmdSum{losses}, io.y[0].f32());
  }

  void backward(Context& context, const Operands& io) override {
    for (size_t i = 0; i < 2; ++i)
      if (io.dx[i])
        for_each(context, io.dx[i].count(),
                 MmdBackward{rows(io), slopes(io), io.dy[0].f32(), i == 0 ? 0 : split_, io.dx[i].f32()});
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override {
    return checked_mul(pairs_, 3 * width_ + 4 * int64_t(options_.kernel_num()));
  }

 private:
  MmdRows rows(const Operands& io) const { return {io.x[0].f32(), io.x[1].f32(), split_, count_, width_}; }
  static float* slopes(const Operands& io) { return static_cast<float*>(io.saved[0]); }

  const caffe::MMDParameter& options_;
  bool training_;
  int64_t split_ = 0, count_ = 0, width_ = 0, pairs_ = 0;
};

const RegisterLayer register_mmd_loss({
    .name = "MMDLoss",
    .help = "the distance of two distributions of features (deep adaptation networks)",
    .options = "mmd_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<MmdLossLayer>,
    .loss = LossRole{.judged = {0, 1}},
});

}  // namespace

}  // namespace cortado
