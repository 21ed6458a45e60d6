// ELU: y = lambda * (x > 0 ? x : alpha (e^x - 1)); lambda, which other than NVIDIA's Caffe nobody has, makes it SELU.
//
// With alpha >= 0 and lambda > 0, y has the sign of x and below 0 the slope is y + lambda alpha: backward reads y and
// forward may write over x. Otherwise backward needs x.

#include <cmath>

#include "layers/registry.h"
#include "layers/typed.h"

namespace cortado {

namespace {

template <typename T>
struct Forward {
  const T* x;
  T* y;
  float alpha, lambda;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i];
    y[i] = lambda * (v > 0 ? v : alpha * expm1f(v));
  }
};

template <typename T>
struct BackwardFromY {
  const T* y;
  const T* dy;
  T* dx;
  float alpha, lambda;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = y[i];
    dx[i] = dy[i] * (v > 0 ? lambda : v + lambda * alpha);
  }
};

template <typename T>
struct BackwardFromX {
  const T* x;
  const T* dy;
  T* dx;
  float alpha, lambda;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i];
    dx[i] = dy[i] * lambda * (v > 0 ? 1 : alpha * expf(v));
  }
};

class EluLayer : public Layer {
 public:
  explicit EluLayer(const LayerOptions& options)
      : alpha_(options.config.elu_param().alpha()), lambda_(options.config.elu_param().lambda()) {}

  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = {x[0]}, .w = {}}; }

  LayoutRule layouts() const override { return LayoutRule::kFollow; }
  TypeRule types() const override { return TypeRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {!backward_from_y()};
    needs.backward_reads_y = {backward_from_y()};
    needs.y_may_overwrite_x = backward_from_y() || !request.backward;
    needs.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<Forward>(context, io.x[0], io.y[0], alpha_, lambda_);
  }

  void backward(Context& context, const Operands& io) override {
    if (backward_from_y())
      for_each_typed<BackwardFromY>(context, io.y[0], io.dy[0], io.dx[0], alpha_, lambda_);
    else
      for_each_typed<BackwardFromX>(context, io.x[0], io.dy[0], io.dx[0], alpha_, lambda_);
  }

 private:
  bool backward_from_y() const { return alpha_ >= 0 && lambda_ > 0; }

  float alpha_, lambda_;
};

const RegisterLayer registered({
    .name = "ELU",
    .help = "x above 0, alpha (e^x - 1) below",
    .options = "elu_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_layer<EluLayer>,
});

}  // namespace

}  // namespace cortado
