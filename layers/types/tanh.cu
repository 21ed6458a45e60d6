// TanH: y = tanh(x). Backward knows the slope from y: 1 - y^2.

#include <cmath>

#include "layers/common/elementwise.h"
#include "layers/common/typed.h"

namespace cortado {

namespace {

template <typename T>
struct Forward {
  const T* x;
  T* y;
  using Arrays = ByPacks<In<&Forward::x>, Out<&Forward::y>>;
  CORTADO_HD void operator()(int64_t i) const { y[i] = tanhf(x[i]); }
};

template <typename T>
struct Backward {
  const T* y;
  const T* dy;
  T* dx;
  using Arrays = ByPacks<In<&Backward::y>, In<&Backward::dy>, Out<&Backward::dx>>;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = y[i];
    dx[i] = dy[i] * (1 - v * v);
  }
};

class TanhLayer : public ElementwiseLayer {
 public:
  explicit TanhLayer(const LayerOptions&) {}

  BackwardReads backward_reads() const override { return BackwardReads::kY; }
  bool keeps_zero() const override { return true; }

  void forward(Context& context, const Operands& io) override { for_each_typed<Forward>(context, io.x[0], io.y[0]); }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<Backward>(context, io.y[0], io.dy[0], io.dx[0]);
  }
};

const RegisterLayer registered(elementwise_type<TanhLayer>("TanH", "hyperbolic tangent", "tanh_param"));

}  // namespace

}  // namespace cortado
