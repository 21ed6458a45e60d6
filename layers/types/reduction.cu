// Reduction: y = coeff * the sum of f(x) over all axes from `axis` on, where f(x) is x (SUM), |x| (ASUM), x^2 (SUMSQ)
// or x divided by the number of elements (MEAN). The axes before it are y's; with axis 0, the default, y is a scalar.
// Sums are computed in double. Sums to a scalar first sum each sample, so that several threads share the work.

#include <cmath>

#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

enum class Term { kValue, kMagnitude, kSquare };

/// Term i of row k.
template <typename T>
struct ScaledTerm {
  const T* x;
  Term term;
  int64_t width;
  float scale;
  CORTADO_HD float operator()(int64_t k, int64_t i) const {
    const float v = x[k * width + i];
    return scale * (term == Term::kValue ? v : term == Term::kMagnitude ? fabsf(v) : v * v);
  }
};

struct SumOfSample {
  const float* sums;
  CORTADO_HD float operator()(int64_t, int64_t i) const { return sums[i]; }
};

template <typename T>
struct BackwardOfValue {
  T* dx;
  const float* dy;
  float scale;
  CORTADO_HD void operator()(int64_t i, int64_t k) const { dx[i] = scale * dy[k]; }
};

template <typename T>
struct ReductionBackward {
  const T* x;
  T* dx;
  const float* dy;
  Term term;
  float scale;
  CORTADO_HD void operator()(int64_t i, int64_t k) const {
    const float v = x[i], sign = v > 0 ? 1 : v < 0 ? -1 : 0;
    dx[i] = scale * dy[k] * (term == Term::kMagnitude ? sign : 2 * v);
  }
};

Term term_of(caffe::ReductionParameter::ReductionOp operation) {
  switch (operation) {
    case caffe::ReductionParameter::ASUM:
      return Term::kMagnitude;
    case caffe::ReductionParameter::SUMSQ:
      return Term::kSquare;
    default:
      return Term::kValue;
  }
}

class ReductionLayer : public Layer {
 public:
  explicit ReductionLayer(const LayerOptions& options)
      : param_(options.config.reduction_param()), term_(term_of(param_.operation())) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    // The sum of a scalar is the scalar.
    axis_ = x[0].axes() == 0 && param_.axis() == 0 ? 0 : axis_of(x[0], param_.axis(), "reduction_param.axis");
    rows_ = x[0].count(0, axis_);
    width_ = x[0].count(axis_);
    const auto first = x[0].dims().begin();
    return {.y = {Shape(std::vector<int64_t>(first, first + axis_))}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    const Shape& x = request.x[0].shape;
    samples_ = axis_ == 0 && x.axes() > 1 ? x[0] : 0;
    LayerNeeds needs;
    needs.backward_reads_x = {term_ != Term::kValue};
    needs.forward_scratch = samples_ * int64_t(sizeof(float));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const bool in_two_steps = samples_ > 0;
    const int64_t rows = in_two_steps ? samples_ : rows_, width = in_two_steps ? width_ / samples_ : width_;
    float* sums = in_two_steps ? static_cast<float*>(io.scratch) : io.y[0].f32();
    const auto sum = [&](const auto& term) { reduce_rows(context, rows, width, term, sums); };
    with_functor<ScaledTerm>(sum, io.x[0], term_, width, scale());
    if (in_two_steps) reduce_rows(context, 1, samples_, SumOfSample{sums}, io.y[0].f32());
  }

  void backward(Context& context, const Operands& io) override {
    const ChannelView rows{1, rows_, width_, Layout::kPlain};
    const float* dy = io.dy[0].f32();
    if (term_ == Term::kValue)
      for_each_channel_typed<BackwardOfValue>(context, rows, io.dx[0], dy, scale());
    else
      for_each_channel_typed<ReductionBackward>(context, rows, io.x[0], io.dx[0], dy, term_, scale());
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 2 * x[0].count(); }

 private:
  float scale() const {
    const bool mean = param_.operation() == caffe::ReductionParameter::MEAN && width_ > 0;
    return mean ? param_.coeff() / float(width_) : param_.coeff();
  }

  const caffe::ReductionParameter& param_;
  Term term_;
  int axis_ = 0;
  int64_t rows_ = 1, width_ = 1;
  int64_t samples_ = 0;  ///< rows of the first step, if there are two
};

const RegisterLayer register_reduction({
    .name = "Reduction",
    .help = "the sum or mean over all axes from one on",
    .options = "reduction_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ReductionLayer>,
});

}  // namespace

}  // namespace cortado
