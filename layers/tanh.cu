// TanH: y = tanh(x). Backward knows the slope from y: 1 - y^2.

#include <cmath>

#include "core/for_each.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct Forward {
  const float* x;
  float* y;
  CORTADO_HD void operator()(int64_t i) const { y[i] = tanhf(x[i]); }
};

struct Backward {
  const float* y;
  const float* dy;
  float* dx;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy[i] * (1 - y[i] * y[i]); }
};

class TanhLayer : public Layer {
 public:
  explicit TanhLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = {x[0]}, .w = {}}; }

  LayoutRule layouts() const override { return LayoutRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_y = {true};
    needs.y_may_overwrite_x = true;
    needs.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each(context, io.x[0].spec.elements(), Forward{io.x[0].f32(), io.y[0].f32()});
  }

  void backward(Context& context, const Operands& io) override {
    for_each(context, io.y[0].spec.elements(), Backward{io.y[0].f32(), io.dy[0].f32(), io.dx[0].f32()});
  }
};

const RegisterLayer registered({
    .name = "TanH",
    .help = "hyperbolic tangent",
    .options = "tanh_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_layer<TanhLayer>,
});

}  // namespace

}  // namespace cortado
