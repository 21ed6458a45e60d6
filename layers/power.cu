// Power: y = (shift + scale x)^power. dx = dy scale power (shift + scale x)^(power - 1).
//
// Where scale power is 0, y is a constant and dx is 0, whatever x holds, as in Caffe: no NaN comes from 0^0 or 0 * Inf.
// Caffe works the slope out as y / (shift + scale x), which is NaN at 0; here it is the power itself.
// It runs in padded blocks where f(0) = 0 and the slope at 0 is finite: shift = 0 and power >= 1.

#include <cmath>

#include "core/for_each.h"
#include "layers/registry.h"
#include "layers/shape_rules.h"

namespace cortado {

namespace {

/// base^power; the compiler takes the tests, which are the same for every element, out of the loop.
CORTADO_HD inline float raise(float base, float power) {
  if (power == 0) return 1;
  if (power == 1) return base;
  if (power == 2) return base * base;
  return powf(base, power);
}

struct Constant {
  float* y;
  float value;
  CORTADO_HD void operator()(int64_t i) const { y[i] = value; }
};

struct Forward {
  const float* x;
  float* y;
  float power, scale, shift;
  CORTADO_HD void operator()(int64_t i) const { y[i] = raise(shift + scale * x[i], power); }
};

struct Backward {
  const float* x;
  const float* dy;
  float* dx;
  float power, scale, shift;
  CORTADO_HD void operator()(int64_t i) const {
    dx[i] = dy[i] * (power * scale * raise(shift + scale * x[i], power - 1));
  }
};

struct BackwardLinear {
  const float* dy;
  float* dx;
  float scale;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy[i] * scale; }
};

class PowerLayer : public Layer {
 public:
  explicit PowerLayer(const LayerOptions& options)
      : power_(options.config.power_param().power()),
        scale_(options.config.power_param().scale()),
        shift_(options.config.power_param().shift()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    fills_blocks_ = fills_blocks(x[0]);
    return {.y = {x[0]}, .w = {}};
  }

  LayoutRule layouts() const override {
    const bool keeps_zero = shift_ == 0 && power_ >= 1;
    return keeps_zero || fills_blocks_ ? LayoutRule::kFollow : LayoutRule::kPlain;
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {!constant() && !linear()};
    needs.y_may_overwrite_x = constant() || linear() || !request.backward;
    needs.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const int64_t n = io.y[0].spec.elements();
    if (constant()) return for_each(context, n, Constant{io.y[0].f32(), raise(shift_, power_)});
    for_each(context, n, Forward{io.x[0].f32(), io.y[0].f32(), power_, scale_, shift_});
  }

  void backward(Context& context, const Operands& io) override {
    const int64_t n = io.dy[0].spec.elements();
    float* dx = io.dx[0].f32();
    if (constant()) return for_each(context, n, Constant{dx, 0});
    if (linear()) return for_each(context, n, BackwardLinear{io.dy[0].f32(), dx, scale_});
    for_each(context, n, Backward{io.x[0].f32(), io.dy[0].f32(), dx, power_, scale_, shift_});
  }

 private:
  bool constant() const { return power_ * scale_ == 0; }
  bool linear() const { return power_ == 1; }

  float power_, scale_, shift_;
  bool fills_blocks_ = false;
};

const RegisterLayer registered({
    .name = "Power",
    .help = "(shift + scale x) to a power",
    .options = "power_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_layer<PowerLayer>,
});

}  // namespace

}  // namespace cortado
