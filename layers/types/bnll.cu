// BNLL: y = ln(1 + e^x), written so that e^x does not overflow. The slope is 1 / (1 + e^-x) = 1 - e^-y: backward reads
// y, and forward may write over x. f(0) is not 0, so it runs in blocks of 16 channels only where no lane is padding.

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
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i];
    y[i] = (v > 0 ? v : 0) + log1pf(expf(-fabsf(v)));
  }
};

template <typename T>
struct Backward {
  const T* y;
  const T* dy;
  T* dx;
  using Arrays = ByPacks<In<&Backward::y>, In<&Backward::dy>, Out<&Backward::dx>>;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy[i] * -expm1f(-y[i]); }
};

class BnllLayer : public ElementwiseLayer {
 public:
  explicit BnllLayer(const LayerOptions&) {}

  BackwardReads backward_reads() const override { return BackwardReads::kY; }
  bool keeps_zero() const override { return false; }

  void forward(Context& context, const Operands& io) override { for_each_typed<Forward>(context, io.x[0], io.y[0]); }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<Backward>(context, io.y[0], io.dy[0], io.dx[0]);
  }
};

const RegisterLayer registered(elementwise_type<BnllLayer>("BNLL", "ln(1 + e^x)"));

}  // namespace

}  // namespace cortado
