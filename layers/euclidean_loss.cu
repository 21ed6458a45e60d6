// EuclideanLoss: y = ||x0 - x1||^2 / (2 N), N being the extent of axis 0 alone.
// dx0 = dy (x0 - x1) / N and dx1 = -dx0: both bottoms learn.

#include "core/error.h"
#include "layers/registry.h"
#include "layers/shape_rules.h"
#include "layers/typed.h"

namespace cortado {

namespace {

template <typename T>
struct SquaredDifference {
  const T* a;
  const float* b;
  int64_t width;  ///< elements of one sample
  CORTADO_HD float operator()(int64_t sample, int64_t i) const {
    const float difference = a[sample * width + i] - b[sample * width + i];
    return difference * difference;
  }
};

struct Scaled {
  const float* x;
  float scale;
  CORTADO_HD float operator()(int64_t, int64_t i) const { return scale * x[i]; }
};

template <typename T, typename D>
struct Backward {
  const T* a;
  D* dx;
  const float* b;
  const float* dy;  ///< one value
  float scale;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy[0] * scale * (a[i] - b[i]); }
};

template <typename T>
using BackwardOfFirst = Backward<T, T>;
template <typename T>
using BackwardOfSecond = Backward<T, float>;

class EuclideanLossLayer : public Layer {
 public:
  explicit EuclideanLossLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 1);
    if (x[1].axes() < 1 || x[1][0] != x[0][0] || x[1].count(1) != x[0].count(1))
      throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but bottom[0] has " + x[0].str(),
                       "both hold the same number of samples (axis 0) of the same size");
    return {.y = {Shape()}, .w = {}};
  }

  TypeRule types() const override { return TypeRule::kReads; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true, true};
    needs.forward_scratch = request.x[0].shape[0] * int64_t(sizeof(float));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const Shape& shape = io.x[0].shape();
    const int64_t samples = shape[0];
    float* sums = static_cast<float*>(io.scratch);
    const auto sum = [&](const auto& term) { reduce_rows(context, samples, shape.count(1), term, sums); };
    with_functor<SquaredDifference>(sum, io.x[0], io.x[1].f32(), shape.count(1));
    reduce_rows(context, 1, samples, Scaled{sums, samples > 0 ? 0.5f / float(samples) : 0}, io.y[0].f32());
  }

  void backward(Context& context, const Operands& io) override {
    const float scale = 1 / float(io.x[0].shape()[0]);
    const float *b = io.x[1].f32(), *dy = io.dy[0].f32();
    if (io.dx[0]) for_each_typed<BackwardOfFirst>(context, io.x[0], io.dx[0], b, dy, scale);
    if (io.dx[1]) for_each_typed<BackwardOfSecond>(context, io.x[0], io.dx[1].f32(), b, dy, -scale);
  }

  bool is_loss() const override { return true; }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 3 * x[0].count(); }
};

const RegisterLayer registered({
    .name = "EuclideanLoss",
    .help = "half the mean squared distance of the samples",
    .options = "",
    .least_x = 2,
    .most_x = 2,
    .least_y = 1,
    .most_y = 1,
    .make = make_layer<EuclideanLossLayer>,
});

}  // namespace

}  // namespace cortado
