// DiceCoefLoss: 1 - the mean over the images of the Dice coefficient 2 sum of x t / (sum of x^2 + sum of t^2), as V-Net
// has it for probabilities x and targets t. Of an image where both are 0 everywhere the coefficient is 1.
//     dx = -dy / images * (2 t / s - 4 p x / s^2), p being the sum of x t and s that of the squares

#include "core/error.h"
#include "layers/common/shape_rules.h"
#include "layers/common/typed.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// Of each image first the sum of products, then that of squares.
template <typename T>
struct SumTerm {
  const T* x;
  const float* targets;
  int64_t width;  ///< elements of an image
  CORTADO_HD float operator()(int64_t k, int64_t at) const {
    const int64_t i = k / 2 * width + at;
    const float v = x[i], t = targets[i];
    return k % 2 == 0 ? v * t : v * v + t * t;
  }
};

struct Coefficient {
  const float* sums;
  CORTADO_HD float operator()(int64_t, int64_t image) const {
    return sums[2 * image + 1] == 0 ? 1 : 2 * sums[2 * image] / sums[2 * image + 1];
  }
};

struct Loss {
  float* y;
  float n;
  CORTADO_HD void operator()(int64_t) const { y[0] = n > 0 ? 1 - y[0] / n : 0; }
};

template <typename T>
struct Backward {
  const T* x;
  T* dx;
  const float *targets, *sums, *dy;
  int64_t width, images;
  CORTADO_HD void operator()(int64_t i) const {
    const float product = sums[i / width * 2], squares = sums[i / width * 2 + 1];
    const float slope = squares == 0 ? 0 : 2 * targets[i] / squares - 4 * (product / squares) * (float(x[i]) / squares);
    dx[i] = -slope * (dy[0] / float(images));
  }
};

class DiceCoefLossLayer : public Layer {
 public:
  explicit DiceCoefLossLayer(const LayerOptions& options) {
    if (options.config.has_loss_param())
      throw FieldError("loss_param", "this loss has no options", "it is the mean over the images");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 1);
    if (x[1].count() != x[0].count())
      throw FieldError("bottom[1]",
                       "there are " + std::to_string(x[1].count()) + " targets (" + x[1].str() + ") for " +
                           std::to_string(x[0].count()) + " predictions (" + x[0].str() + ")",
                       "each prediction has one target");
    images_ = x[0][0], width_ = x[0].count(1);
    return {.y = {Shape()}, .w = {}};
  }

  TypeRule types() const override { return TypeRule::kReads; }
  bool is_loss() const override { return true; }
  bool differentiable(int i) const override { return i == 0; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true, true};
    needs.saved = {checked_mul(2 * images_, sizeof(float))};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    float *sums = static_cast<float*>(io.saved[0]), *y = io.y[0].f32();
    const auto sum = [&](const auto& term) { reduce_rows(context, 2 * images_, width_, term, sums); };
    with_functor<SumTerm>(sum, io.x[0], static_cast<const float*>(io.x[1].f32()), width_);
    reduce_rows(context, 1, images_, Coefficient{sums}, y);
    for_each(context, 1, Loss{y, float(images_)});
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0])
      for_each_typed<Backward>(context, io.x[0], io.dx[0], io.x[1].f32(), static_cast<const float*>(io.saved[0]),
                               io.dy[0].f32(), width_, images_);
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 5 * x[0].count(); }

 private:
  int64_t images_ = 0, width_ = 0;
};

const RegisterLayer registered({
    .name = "DiceCoefLoss",
    .help = "1 - the Dice coefficient of predictions and targets, the mean over the images",
    .options = "",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<DiceCoefLossLayer>,
});

}  // namespace

}  // namespace cortado
