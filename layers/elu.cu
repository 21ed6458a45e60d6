// ELU: y = lambda * (x > 0 ? x : alpha (e^x - 1)); lambda, which other than NVIDIA's Caffe nobody has, makes it SELU.
//
// With alpha >= 0 and lambda > 0, y has the sign of x and below 0 the slope is y + lambda alpha: backward reads y and
// forward may write over x. Otherwise backward needs x.

#include <cmath>

#include "core/for_each.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct Forward {
  const float* x;
  float* y;
  float alpha, lambda;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i];
    y[i] = lambda * (v > 0 ? v : alpha * expm1f(v));
  }
};

struct BackwardFromY {
  const float* y;
  const float* dy;
  float* dx;
  float alpha, lambda;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy[i] * (y[i] > 0 ? lambda : y[i] + lambda * alpha); }
};

struct BackwardFromX {
  const float* x;
  const float* dy;
  float* dx;
  float alpha, lambda;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy[i] * lambda * (x[i] > 0 ? 1 : alpha * expf(x[i])); }
};

class EluLayer : public Layer {
 public:
  explicit EluLayer(const LayerOptions& options)
      : alpha_(options.config.elu_param().alpha()), lambda_(options.config.elu_param().lambda()) {}

  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = {x[0]}, .w = {}}; }

  LayoutRule layouts() const override { return LayoutRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {!backward_from_y()};
    needs.backward_reads_y = {backward_from_y()};
    needs.y_may_overwrite_x = backward_from_y() || !request.backward;
    needs.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each(context, io.x[0].spec.elements(), Forward{io.x[0].f32(), io.y[0].f32(), alpha_, lambda_});
  }

  void backward(Context& context, const Operands& io) override {
    const int64_t n = io.dy[0].spec.elements();
    if (backward_from_y())
      for_each(context, n, BackwardFromY{io.y[0].f32(), io.dy[0].f32(), io.dx[0].f32(), alpha_, lambda_});
    else
      for_each(context, n, BackwardFromX{io.x[0].f32(), io.dy[0].f32(), io.dx[0].f32(), alpha_, lambda_});
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
