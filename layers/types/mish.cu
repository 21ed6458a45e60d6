// Mish: y = x t with t = tanh(ln(1 + e^x)). With e = e^x, t = (e^2 + 2 e) / (e^2 + 2 e + 2); above 0 both are divided
// by e^2, so that nothing overflows. dx = dy (t + x (1 - t^2) sigmoid(x)).

#include <cmath>

#include "layers/common/elementwise.h"
#include "layers/common/typed.h"

namespace cortado {

namespace {

CORTADO_HD inline float tanh_of_softplus(float v) {
  const float e = expf(-fabsf(v));
  if (v > 0) return (1 + 2 * e) / (1 + 2 * e + 2 * e * e);
  return e * (e + 2) / (e * (e + 2) + 2);
}

template <typename T>
struct Forward {
  const T* x;
  T* y;
  using Arrays = ByPacks<In<&Forward::x>, Out<&Forward::y>>;
  CORTADO_HD void operator()(int64_t i) const { y[i] = x[i] * tanh_of_softplus(x[i]); }
};

template <typename T>
struct Backward {
  const T* x;
  const T* dy;
  T* dx;
  using Arrays = ByPacks<In<&Backward::x>, In<&Backward::dy>, Out<&Backward::dx>>;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i], t = tanh_of_softplus(v);
    dx[i] = dy[i] * (t + v * (1 - t * t) / (1 + expf(-v)));
  }
};

class MishLayer : public ElementwiseLayer {
 public:
  explicit MishLayer(const LayerOptions&) {}

  BackwardReads backward_reads() const override { return BackwardReads::kX; }
  bool keeps_zero() const override { return true; }

  void forward(Context& context, const Operands& io) override { for_each_typed<Forward>(context, io.x[0], io.y[0]); }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<Backward>(context, io.x[0], io.dy[0], io.dx[0]);
  }
};

const RegisterLayer registered(elementwise_type<MishLayer>("Mish", "x tanh(ln(1 + e^x))"));

}  // namespace

}  // namespace cortado
