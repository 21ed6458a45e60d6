// Swish: y = x s with s = 1 / (1 + e^(-beta x)). beta is an option, not learned. dx = dy s (1 + beta x (1 - s)).

#include <cmath>

#include "layers/registry.h"
#include "layers/typed.h"

namespace cortado {

namespace {

CORTADO_HD inline float sigmoid(float v) { return 1 / (1 + expf(-v)); }

template <typename T>
struct Forward {
  const T* x;
  T* y;
  float beta;
  CORTADO_HD void operator()(int64_t i) const { y[i] = x[i] * sigmoid(beta * x[i]); }
};

template <typename T>
struct Backward {
  const T* x;
  const T* dy;
  T* dx;
  float beta;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = beta * x[i], s = sigmoid(v);
    dx[i] = dy[i] * s * (1 + v * (1 - s));
  }
};

class SwishLayer : public Layer {
 public:
  explicit SwishLayer(const LayerOptions& options) : beta_(options.config.swish_param().beta()) {}

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
    for_each_typed<Forward>(context, io.x[0], io.y[0], beta_);
  }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<Backward>(context, io.x[0], io.dy[0], io.dx[0], beta_);
  }

 private:
  float beta_;
};

const RegisterLayer registered({
    .name = "Swish",
    .help = "x times the sigmoid of beta x",
    .options = "swish_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_layer<SwishLayer>,
});

}  // namespace

}  // namespace cortado
