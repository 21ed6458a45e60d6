// Log: y = log_base(shift + scale x) = factor ln(shift + scale x) with factor = 1 / ln base. Base -1 means e.
// dx = dy factor scale / (shift + scale x). It runs in padded blocks where f(0) = 0: shift = 1.

#include <cmath>

#include "core/error.h"
#include "layers/registry.h"
#include "layers/shape_rules.h"
#include "layers/typed.h"
#include "layers/words.h"

namespace cortado {

namespace {

template <typename T>
struct Forward {
  const T* x;
  T* y;
  float factor, scale, shift;
  CORTADO_HD void operator()(int64_t i) const { y[i] = factor * logf(shift + scale * x[i]); }
};

template <typename T>
struct Backward {
  const T* x;
  const T* dy;
  T* dx;
  float factor, scale, shift;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy[i] * (factor * scale / (shift + scale * x[i])); }
};

/// 1 / ln base. Throws FieldError where there is none.
float factor_of_base(float base) {
  if (base == -1) return 1;
  if (!(base > 0) || base == 1 || std::isinf(base))
    throw FieldError("log_param.base", "base is " + text_of(base) + ", but must be above 0, finite and not 1",
                     "leave it out, or write -1, for e");
  return 1 / std::log(base);
}

class LogLayer : public Layer {
 public:
  explicit LogLayer(const LayerOptions& options)
      : factor_(factor_of_base(options.config.log_param().base())),
        scale_(options.config.log_param().scale()),
        shift_(options.config.log_param().shift()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    fills_blocks_ = fills_blocks(x[0]);
    return {.y = {x[0]}, .w = {}};
  }

  LayoutRule layouts() const override {
    return shift_ == 1 || fills_blocks_ ? LayoutRule::kFollow : LayoutRule::kPlain;
  }
  TypeRule types() const override { return TypeRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true};
    needs.y_may_overwrite_x = !request.backward;
    needs.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<Forward>(context, io.x[0], io.y[0], factor_, scale_, shift_);
  }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<Backward>(context, io.x[0], io.dy[0], io.dx[0], factor_, scale_, shift_);
  }

 private:
  float factor_, scale_, shift_;
  bool fills_blocks_ = false;
};

const RegisterLayer registered({
    .name = "Log",
    .help = "the logarithm of shift + scale x to a base",
    .options = "log_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_layer<LogLayer>,
});

}  // namespace

}  // namespace cortado
