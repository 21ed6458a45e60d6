// Sigmoid: y = 1 / (1 + e^-x). Backward knows the slope from y: y (1 - y).
// sigmoid(0) is not 0, so it runs in blocks of 16 channels only where no lane is padding.

#include <cmath>

#include "layers/registry.h"
#include "layers/shape_rules.h"
#include "layers/typed.h"

namespace cortado {

namespace {

template <typename T>
struct Forward {
  const T* x;
  T* y;
  CORTADO_HD void operator()(int64_t i) const { y[i] = 1 / (1 + expf(-x[i])); }
};

template <typename T>
struct Backward {
  const T* y;
  const T* dy;
  T* dx;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = y[i];
    dx[i] = dy[i] * v * (1 - v);
  }
};

class SigmoidLayer : public Layer {
 public:
  explicit SigmoidLayer(const LayerOptions&) {}

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
    for_each_typed<Forward>(context, io.x[0], io.y[0]);
  }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<Backward>(context, io.y[0], io.dy[0], io.dx[0]);
  }

 private:
  bool fills_blocks_ = false;
};

const RegisterLayer registered({
    .name = "Sigmoid",
    .help = "1 / (1 + e^-x)",
    .options = "sigmoid_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_layer<SigmoidLayer>,
});

}  // namespace

}  // namespace cortado
