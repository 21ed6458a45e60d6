// GELU: y = x P(x), where P is the normal distribution function. dx = dy (P + x p), with its density p. P is computed
// by erf or, with gelu_param.approximate, as (1 + tanh(k (x + 0.044715 x^3))) / 2, k = sqrt(2 / pi), with the
// derivative of that.

#include "core/loops/fast_math.h"
#include "layers/common/loops/function_layer.h"

namespace cortado {

namespace {

constexpr float kRootOfHalf = 0.70710678f, kRootOfTwoByPi = 0.79788456f, kCubic = 0.044715f;

/// A distribution function and its density. For z > 0, erfc(z) = e^(-z^2) t q(t) with t = 1 / (1 + 0.45 z), where q is
/// a polynomial fitted for the least relative error, 7e-7 in floats. Unlike erfcf, this has no branches, so compilers
/// vectorize it. 1 - P(v) = P(-v) is 0 in floats from v = 13 on.
struct ByErf {
  CORTADO_HD static float below(float v) {
    const float z = (v < 0 ? -v : v) * kRootOfHalf, t = 1 / (1 + 0.45f * z);
    float q = -0.24888933f + 0.068904616f * t;
    q = 0.22578296f + t * (0.19616868f + t * (0.02623387f + t * (0.22391026f + t * q)));
    q = 0.25388521f + t * (0.25400409f + t * q);
    const float beyond = z < 9.2f ? 0.5f * t * q * fast_exp(-z * z) : 0;
    return v < 0 ? beyond : 1 - beyond;
  }
  CORTADO_HD static float density(float v) {
    const float half_square = 0.5f * v * v;
    return half_square < 85 ? 0.5f * kRootOfTwoByPi * fast_exp(-half_square) : 0;
  }
};

struct ByTanh {
  CORTADO_HD static float half(float v) { return fast_tanh(kRootOfTwoByPi * (v + kCubic * v * v * v)); }
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
