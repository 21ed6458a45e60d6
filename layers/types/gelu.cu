// GELU: y = x P(x), where P is the normal distribution function. dx = dy (P + x p), with its density p. P is computed
// by erf or, with gelu_param.approximate, as (1 + tanh(k (x + 0.044715 x^3))) / 2, k = sqrt(2 / pi), with the
// derivative of that.

#include <cmath>

#include "layers/common/loops/function_layer.h"

namespace cortado {

namespace {

constexpr float kRootOfHalf = 0.70710678f, kRootOfTwoByPi = 0.79788456f, kCubic = 0.044715f;

/// A distribution function and its density.
struct ByErf {
  CORTADO_HD static float below(float v) { return 0.5f * erfcf(-v * kRootOfHalf); }
  CORTADO_HD static float density(float v) { return 0.5f * kRootOfTwoByPi * expf(-0.5f * v * v); }
};

struct ByTanh {
  CORTADO_HD static float half(float v) { return tanhf(kRootOfTwoByPi * (v + kCubic * v * v * v)); }
  CORTADO_HD static float below(float v) { return 0.5f * (1 + half(v)); }
  CORTADO_HD static float density(float v) {
    const float t = half(v), rest = 1 - t * t;
    return rest > 0 ? 0.5f * rest * kRootOfTwoByPi * (1 + 3 * kCubic * v * v) : 0;  // v^2 overflows for large v
  }
};

template <typename Normal>
struct GeluBy {
  static constexpr BackwardReads kReads = BackwardReads::kX;

  CORTADO_HD static float value(float x) { return x * Normal::below(x); }
  CORTADO_HD static float gradient(float dy, float x) { return dy * (Normal::below(x) + x * Normal::density(x)); }
};

class GeluLayer : public ElementwiseLayer {
 public:
  explicit GeluLayer(const LayerOptions& options) : approximate_(options.config.gelu_param().approximate()) {}

  BackwardReads backward_reads() const override { return BackwardReads::kX; }
  bool keeps_zero() const override { return true; }
  std::optional<kernels::PostOp> as_post_op() const override {
    if (approximate_) return std::nullopt;
    return kernels::Activation{kernels::Activation::kGelu};
  }

  void forward(Context& context, const Operands& io) override {
    approximate_ ? apply_function<GeluBy<ByTanh>>(context, io) : apply_function<GeluBy<ByErf>>(context, io);
  }

  void backward(Context& context, const Operands& io) override {
    approximate_ ? apply_gradient<GeluBy<ByTanh>>(context, io) : apply_gradient<GeluBy<ByErf>>(context, io);
  }

 private:
  bool approximate_;
};

const RegisterLayer register_gelu(elementwise_type<GeluLayer>("GELU", "x times the normal distribution function of x",
                                                              "gelu_param"));

}  // namespace

}  // namespace cortado
