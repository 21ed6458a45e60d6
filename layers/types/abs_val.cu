// AbsVal: y = |x|. Both signs give one y, so backward needs x; at 0 the slope counts as 0.

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
  CORTADO_HD void operator()(int64_t i) const { y[i] = fabsf(x[i]); }
};

template <typename T>
struct Backward {
  const T *x, *dy;
  T* dx;
  using Arrays = ByPacks<In<&Backward::x>, In<&Backward::dy>, Out<&Backward::dx>>;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i], d = dy[i];
    dx[i] = v > 0 ? d : v < 0 ? -d : 0;
  }
};

class AbsValLayer : public ElementwiseLayer {
 public:
  explicit AbsValLayer(const LayerOptions&) {}

  BackwardReads backward_reads() const override { return BackwardReads::kX; }
  bool keeps_zero() const override { return true; }

  void forward(Context& context, const Operands& io) override { for_each_typed<Forward>(context, io.x[0], io.y[0]); }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<Backward>(context, io.x[0], io.dy[0], io.dx[0]);
  }
};

const RegisterLayer registered(elementwise_type<AbsValLayer>("AbsVal", "the absolute value"));

}  // namespace

}  // namespace cortado
