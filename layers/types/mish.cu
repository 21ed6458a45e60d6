// Mish: y = x t with t = tanh(ln(1 + e^x)). With e = e^x, t = (e^2 + 2 e) / (e^2 + 2 e + 2); above 0 both are divided
// by e^2, so that nothing overflows. dx = dy (t + x (1 - t^2) sigmoid(x)).

#include <cmath>

#include "layers/common/loops/function_layer.h"

namespace cortado {

namespace {

struct Mish {
  static constexpr BackwardReads kReads = BackwardReads::kX;
  static constexpr bool kKeepsZero = true;

  CORTADO_HD static float tanh_of_softplus(float v) {
    const float e = expf(-fabsf(v));
    if (v > 0) return (1 + 2 * e) / (1 + 2 * e + 2 * e * e);
    return e * (e + 2) / (e * (e + 2) + 2);
  }
  CORTADO_HD static float value(float x) { return x * tanh_of_softplus(x); }
  CORTADO_HD static float gradient(float dy, float x) {
    const float t = tanh_of_softplus(x);
    return dy * (t + x * (1 - t * t) / (1 + expf(-x)));
  }
};

const RegisterLayer register_mish(function_type<Mish>("Mish", "x tanh(ln(1 + e^x))"));

}  // namespace

}  // namespace cortado
