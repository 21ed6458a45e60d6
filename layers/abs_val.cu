// AbsVal: y = |x|. Both signs give one y, so backward needs x; at 0 the slope counts as 0.

#include <cmath>

#include "layers/registry.h"
#include "layers/typed.h"

namespace cortado {

namespace {

template <typename T>
struct Forward {
  const T* x;
  T* y;
  CORTADO_HD void operator()(int64_t i) const { y[i] = fabsf(x[i]); }
};

template <typename T>
struct Backward {
  const T *x, *dy;
  T* dx;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i], d = dy[i];
    dx[i] = v > 0 ? d : v < 0 ? -d : 0;
  }
};

class AbsValLayer : public Layer {
 public:
  explicit AbsValLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = {x[0]}, .w = {}}; }

  LayoutRule layouts() const override { return LayoutRule::kFollow; }
  TypeRule types() const override { return TypeRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true};
    needs.y_may_overwrite_x = !request.backward;
    needs.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<Forward>(context, io.x[0], io.y[0]);
  }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<Backward>(context, io.x[0], io.dy[0], io.dx[0]);
  }
};

const RegisterLayer registered({
    .name = "AbsVal",
    .help = "the absolute value",
    .options = "",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_layer<AbsValLayer>,
});

}  // namespace

}  // namespace cortado
