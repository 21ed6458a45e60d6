// TanH: y = tanh(x). Backward knows the slope from y: 1 - y^2.

#include <cmath>

#include "layers/registry.h"
#include "layers/typed.h"

namespace cortado {

namespace {

template <typename T>
struct Forward {
  const T* x;
  T* y;
  CORTADO_HD void operator()(int64_t i) const { y[i] = tanhf(x[i]); }
};

template <typename T>
struct Backward {
  const T* y;
  const T* dy;
  T* dx;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = y[i];
    dx[i] = dy[i] * (1 - v * v);
  }
};

class TanhLayer : public Layer {
 public:
  explicit TanhLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = {x[0]}, .w = {}}; }

  LayoutRule layouts() const override { return LayoutRule::kFollow; }
  TypeRule types() const override { return TypeRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_y = {true};
    needs.y_may_overwrite_x = true;
    needs.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<Forward>(context, io.x[0], io.y[0]);
  }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<Backward>(context, io.y[0], io.dy[0], io.dx[0]);
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
