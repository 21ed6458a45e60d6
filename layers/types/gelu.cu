// GELU: y = x P(x), P the normal distribution's function. dx = dy (P + x p), p its density. By erf, or, with
// gelu_param.approximate, by P = (1 + tanh(k (x + 0.044715 x^3))) / 2, k = sqrt(2 / pi), and by that one's own slope.

#include <cmath>

#include "layers/common/elementwise.h"
#include "layers/common/typed.h"

namespace cortado {

namespace {

constexpr float kRootOfHalf = 0.70710678f, kRootOfTwoByPi = 0.79788456f, kCubic = 0.044715f;

/// A distribution's function and density.
struct ByErf {
  CORTADO_HD static float below(float v) { return 0.5f * erfcf(-v * kRootOfHalf); }
  CORTADO_HD static float density(float v) { return 0.5f * kRootOfTwoByPi * expf(-0.5f * v * v); }
};

struct ByTanh {
  CORTADO_HD static float half(float v) { return tanhf(kRootOfTwoByPi * (v + kCubic * v * v * v)); }
  CORTADO_HD static float below(float v) { return 0.5f * (1 + half(v)); }
  CORTADO_HD static float density(float v) {
    const float t = half(v), rest = 1 - t * t;
    return rest > 0 ? 0.5f * rest * kRootOfTwoByPi * (1 + 3 * kCubic * v * v) : 0;  // far out v^2 overflows
  }
};

template <typename T, typename Normal>
struct Forward {
  const T* x;
  T* y;
  using Arrays = ByPacks<In<&Forward::x>, Out<&Forward::y>>;
  CORTADO_HD void operator()(int64_t i) const { y[i] = x[i] * Normal::below(x[i]); }
};

template <typename T, typename Normal>
struct Backward {
  const T* x;
  const T* dy;
  T* dx;
  using Arrays = ByPacks<In<&Backward::x>, In<&Backward::dy>, Out<&Backward::dx>>;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i];
    dx[i] = dy[i] * (Normal::below(v) + v * Normal::density(v));
  }
};

template <typename T>
using ForwardByErf = Forward<T, ByErf>;
template <typename T>
using ForwardByTanh = Forward<T, ByTanh>;
template <typename T>
using BackwardByErf = Backward<T, ByErf>;
template <typename T>
using BackwardByTanh = Backward<T, ByTanh>;

class GeluLayer : public ElementwiseLayer {
 public:
  explicit GeluLayer(const LayerOptions& options) : approximate_(options.config.gelu_param().approximate()) {}

  BackwardReads backward_reads() const override { return BackwardReads::kX; }
  bool keeps_zero() const override { return true; }

  void forward(Context& context, const Operands& io) override {
    if (approximate_) return for_each_typed<ForwardByTanh>(context, io.x[0], io.y[0]);
    for_each_typed<ForwardByErf>(context, io.x[0], io.y[0]);
  }

  void backward(Context& context, const Operands& io) override {
    if (approximate_) return for_each_typed<BackwardByTanh>(context, io.x[0], io.dy[0], io.dx[0]);
    for_each_typed<BackwardByErf>(context, io.x[0], io.dy[0], io.dx[0]);
  }

 private:
  bool approximate_;
};

const RegisterLayer registered(elementwise_type<GeluLayer>("GELU", "x times the share of a normal distribution below x",
                                                           "gelu_param"));

}  // namespace

}  // namespace cortado
