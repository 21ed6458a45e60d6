// HardSwish: y = x r / 6 with r = min(max(x + 3, 0), 6). It falls before it rises, so that backward needs x: the slope
// is 0 up to -3, 1 from 3 on, and (2 x + 3) / 6 between.

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
    const float v = x[i], r = v + 3;
    y[i] = v * ((r < 0 ? 0 : r > 6 ? 6 : r) * (1 / 6.0f));
  }
};

template <typename T>
struct Backward {
  const T* x;
  const T* dy;
  T* dx;
  using Arrays = ByPacks<In<&Backward::x>, In<&Backward::dy>, Out<&Backward::dx>>;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i];
    dx[i] = dy[i] * (v <= -3 ? 0 : v >= 3 ? 1 : (2 * v + 3) * (1 / 6.0f));
  }
};

class HardSwishLayer : public ElementwiseLayer {
 public:
  explicit HardSwishLayer(const LayerOptions&) {}

  BackwardReads backward_reads() const override { return BackwardReads::kX; }
  bool keeps_zero() const override { return true; }

  void forward(Context& context, const Operands& io) override { for_each_typed<Forward>(context, io.x[0], io.y[0]); }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<Backward>(context, io.x[0], io.dy[0], io.dx[0]);
  }
};

const RegisterLayer registered(elementwise_type<HardSwishLayer>("HardSwish", "x min(max(x + 3, 0), 6) / 6"));

}  // namespace

}  // namespace cortado
