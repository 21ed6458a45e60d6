// AbsVal: y = |x|. Both signs give one y, so backward needs x; at 0 the slope counts as 0.

#include <cmath>

#include "core/for_each.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct Forward {
  const float* x;
  float* y;
  CORTADO_HD void operator()(int64_t i) const { y[i] = fabsf(x[i]); }
};

struct Backward {
  const float *x, *dy;
  float* dx;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = x[i] > 0 ? dy[i] : x[i] < 0 ? -dy[i] : 0; }
};

class AbsValLayer : public Layer {
 public:
  explicit AbsValLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = {x[0]}, .w = {}}; }

  LayoutRule layouts() const override { return LayoutRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true};
    needs.y_may_overwrite_x = !request.backward;
    needs.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each(context, io.x[0].spec.elements(), Forward{io.x[0].f32(), io.y[0].f32()});
  }

  void backward(Context& context, const Operands& io) override {
    for_each(context, io.x[0].spec.elements(), Backward{io.x[0].f32(), io.dy[0].f32(), io.dx[0].f32()});
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
