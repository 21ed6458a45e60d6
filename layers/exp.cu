// Exp: y = base^(shift + scale x), worked out as e^(term + factor x) with factor = scale ln base and term = shift ln
// base. Base -1 means e. dx = dy y factor: backward reads y, and forward may write over x. f(0) is not 0, so it runs in
// blocks of 16 channels only where no lane is padding.

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
  float factor, term;
  CORTADO_HD void operator()(int64_t i) const { y[i] = expf(term + factor * x[i]); }
};

template <typename T>
struct Backward {
  const T* y;
  const T* dy;
  T* dx;
  float factor;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy[i] * y[i] * factor; }
};

/// ln base. Throws FieldError where there is none.
float log_of_base(float base) {
  if (base == -1) return 1;
  if (!(base > 0) || std::isinf(base))
    throw FieldError("exp_param.base", "base is " + text_of(base) + ", but must be above 0 and finite",
                     "leave it out, or write -1, for e");
  return std::log(base);
}

class ExpLayer : public Layer {
 public:
  explicit ExpLayer(const LayerOptions& options) {
    const caffe::ExpParameter& param = options.config.exp_param();
    const float log_base = log_of_base(param.base());
    factor_ = param.scale() * log_base;
    term_ = param.shift() * log_base;
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    fills_blocks_ = fills_blocks(x[0]);
    return {.y = {x[0]}, .w = {}};
  }

  LayoutRule layouts() const override { return fills_blocks_ ? LayoutRule::kFollow : LayoutRule::kPlain; }
  TypeRule types() const override { return TypeRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_y = {true};
    needs.y_may_overwrite_x = true;
    needs.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<Forward>(context, io.x[0], io.y[0], factor_, term_);
  }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<Backward>(context, io.y[0], io.dy[0], io.dx[0], factor_);
  }

 private:
  float factor_, term_;
  bool fills_blocks_ = false;
};

const RegisterLayer registered({
    .name = "Exp",
    .help = "a base to the power of shift + scale x",
    .options = "exp_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_layer<ExpLayer>,
});

}  // namespace

}  // namespace cortado
