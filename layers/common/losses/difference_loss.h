#pragma once

// Losses of the difference of two bottoms of one size: y = sum of outside curve(inside (a - b)) / N, with N the extent
// of axis 0. da = dy inside outside slope(inside (a - b)) / N and db = -da: both bottoms get gradients. The weights
// `inside` and `outside`, one for each element, are optional bottoms of some layers. A second top of some layers is the
// sum over axis 1 for each sample and position, not divided by N; its gradient is propagated. For .cu files.
//
// A Curve is constructed from LayerOptions and has CORTADO_HD float value(float) const, and slope(float).

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/layer.h"
#include "layers/roles.h"

namespace cortado {

namespace {

/// One for each element; null: 1.
struct ElementWeights {
  const float *inside = nullptr, *outside = nullptr;
  CORTADO_HD float difference(float a, float b, int64_t i) const { return (inside ? inside[i] : 1) * (a - b); }
  CORTADO_HD float of(int64_t i) const { return outside ? outside[i] : 1; }
};

/// A row of terms is a sample, or its elements at one of `places` positions.
struct DifferenceRowsView {
  int64_t width;  ///< elements of one sample
  int64_t places;
  CORTADO_HD int64_t at(int64_t row, int64_t k) const {
    return places == 1 ? row * width + k : row / places * width + k * places + row % places;
  }
  CORTADO_HD int64_t row_of(int64_t i) const { return i / width * places + i % places; }
};

template <typename T, typename Curve>
struct DifferenceTerm {
  const T* a;
  const float* b;
  ElementWeights weights;
  Curve curve;
  DifferenceRowsView rows;
  CORTADO_HD float operator()(int64_t row, int64_t k) const {
    const int64_t i = rows.at(row, k);
    return weights.of(i) * curve.value(weights.difference(a[i], b[i], i));
  }
};

struct ScaledSum {
  const float* sums;
  float scale;
  CORTADO_HD float operator()(int64_t, int64_t i) const { return scale * sums[i]; }
};

/// The gradient of either bottom: D is T for a and float for b.
template <typename T, typename D, typename Curve>
struct DifferenceBackward {
  const T* a;
  D* dx;
  const float *b, *dy, *drows;  ///< dy: one value; drows: of the rows; null if they do not arrive
  ElementWeights weights;
  Curve curve;
  DifferenceRowsView rows;
  float scale, sign;
  CORTADO_HD void operator()(int64_t i) const {
    const float inner = weights.inside ? weights.inside[i] : 1;
    const float arrives = (dy ? dy[0] * scale : 0) + (drows ? drows[rows.row_of(i)] : 0);
    dx[i] = sign * arrives * weights.of(i) * inner * curve.slope(weights.difference(a[i], b[i], i));
  }
};

template <typename Curve>
class DifferenceLossLayer : public Layer, public Scoring {
 public:
  explicit DifferenceLossLayer(const LayerOptions& options)
      : curve_(options), shows_rows_(options.config.top_size() > 1) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], shows_rows_ ? 2 : 1);
    for (size_t i = 1; i < x.size(); ++i)
      if (x[i].axes() < 1 || x[i][0] != x[0][0] || x[i].count(1) != x[0].count(1))
        throw FieldError(entry("bottom", int64_t(i)),
                         "its shape is " + x[i].str() + ", but bottom[0] has " + x[0].str(),
                         "all bottoms must have the same number of samples (axis 0) of the same size");
    samples_ = x[0][0];
    rows_ = {std::max<int64_t>(x[0].count(1), 1), 1};
    if (!shows_rows_) return {.y = {Shape()}, .w = {}};
    rows_.places = std::max<int64_t>(x[0].count(2), 1);
    Shape sums = x[0];
    sums[1] = 1;
    return {.y = {Shape(), sums}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }

  LayerRoles roles() override { return {.scoring = this}; }
  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x.assign(request.x.size(), true);
    needs.forward_scratch = shows_rows_ ? 0 : request.x[0].shape[0] * int64_t(sizeof(float));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const int64_t count = samples_ * rows_.places;
    float* sums = shows_rows_ ? io.y[1].f32() : static_cast<float*>(io.scratch);
    with_float_type(io.x[0].spec.dtype, [&](auto zero) {
      using T = decltype(zero);
      const DifferenceTerm<T, Curve> term{io.x[0].as<T>(), io.x[1].f32(), weights(io), curve_, rows_};
      reduce_rows(context, count, io.x[0].shape().count(1) / rows_.places, term, sums);
    });
    reduce_rows(context, 1, count, ScaledSum{sums, samples_ > 0 ? 1 / float(samples_) : 0}, io.y[0].f32());
  }

  void backward(Context& context, const Operands& io) override {
    with_float_type(io.x[0].spec.dtype, [&](auto zero) {
      using T = decltype(zero);
      if (io.dx[0]) write_gradient<T>(context, io, io.dx[0].as<T>(), 1);
      if (io.dx[1]) write_gradient<T>(context, io, io.dx[1].f32(), -1);
    });
  }

  bool differentiable(int i) const override { return i < 2; }
  Ratio quotient(size_t k) const override { return k > 0 ? Ratio{} : Ratio{.fixed = double(samples_)}; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 3 * x[0].count(); }

 private:
  static ElementWeights weights(const Operands& io) {
    return {io.x.size() > 2 ? io.x[2].f32() : nullptr, io.x.size() > 3 ? io.x[3].f32() : nullptr};
  }

  template <typename T, typename D>
  void write_gradient(Context& context, const Operands& io, D* dx, float sign) const {
    const float* drows = shows_rows_ ? io.dy[1].f32() : nullptr;
    for_each(context, io.x[0].count(),
             DifferenceBackward<T, D, Curve>{io.x[0].as<T>(), dx, io.x[1].f32(), io.dy[0].f32(), drows, weights(io),
                                             curve_, rows_, 1 / float(io.x[0].shape()[0]), sign});
  }

  Curve curve_;
  bool shows_rows_;  ///< there is a second top
  int64_t samples_ = 0;
  DifferenceRowsView rows_ = {1, 1};
};

}  // namespace

}  // namespace cortado
