// ELU: y = lambda * (x > 0 ? x : alpha (e^x - 1)); lambda, from NVIDIA's Caffe, makes it SELU (layers/types/selu.cc).
//
// With alpha >= 0 and lambda > 0, y has the sign of x, and the slope below 0 is y + lambda alpha: backward reads y, and
// forward may overwrite x. Otherwise backward reads x.

#include <cmath>

#include "layers/common/loops/elementwise.h"
#include "layers/common/loops/typed.h"
#include "layers/types/elu.h"

namespace cortado {

namespace {

template <typename T>
struct EluForward {
  const T* x;
  T* y;
  float alpha, lambda;
  using Arrays = ByPacks<In<&EluForward::x>, Out<&EluForward::y>>;
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
  using Arrays = ByPacks<In<&BackwardFromY::y>, In<&BackwardFromY::dy>, Out<&BackwardFromY::dx>>;
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
  using Arrays = ByPacks<In<&BackwardFromX::x>, In<&BackwardFromX::dy>, Out<&BackwardFromX::dx>>;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i];
    dx[i] = dy[i] * lambda * (v > 0 ? 1 : alpha * expf(v));
  }
};

class EluLayer : public ElementwiseLayer {
 public:
  explicit EluLayer(const LayerOptions& options)
      : EluLayer(options.config.elu_param().alpha(), options.config.elu_param().lambda()) {}
  EluLayer(float alpha, float lambda) : alpha_(alpha), lambda_(lambda) {}

  BackwardReads backward_reads() const override {
    return alpha_ >= 0 && lambda_ > 0 ? BackwardReads::kY : BackwardReads::kX;
  }
  bool keeps_zero() const override { return true; }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<EluForward>(context, io.x[0], io.y[0], alpha_, lambda_);
  }

  void backward(Context& context, const Operands& io) override {
    if (backward_reads() == BackwardReads::kY)
      for_each_typed<BackwardFromY>(context, io.y[0], io.dy[0], io.dx[0], alpha_, lambda_);
    else
      for_each_typed<BackwardFromX>(context, io.x[0], io.dy[0], io.dx[0], alpha_, lambda_);
  }

 private:
  float alpha_, lambda_;
};

const RegisterLayer register_elu(elementwise_type<EluLayer>("ELU", "x above 0, alpha (e^x - 1) below", "elu_param"));

}  // namespace

std::unique_ptr<Layer> make_elu(float alpha, float lambda) { return std::make_unique<EluLayer>(alpha, lambda); }

}  // namespace cortado
