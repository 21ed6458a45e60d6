// TanH: y = tanh(x). The slope is 1 - y^2, so backward reads y.

#include <cmath>

#include "layers/common/loops/function_layer.h"

namespace cortado {

namespace {

struct TanhTanh {
  static constexpr BackwardReads kReads = BackwardReads::kY;
  static constexpr bool kKeepsZero = true;

  CORTADO_HD static float value(float x) { return tanhf(x); }
  CORTADO_HD static float gradient(float dy, float y) { return dy * (1 - y * y); }
};

const RegisterLayer register_tanh(function_type<TanhTanh>("TanH", "hyperbolic tangent", "tanh_param"));

}  // namespace

}  // namespace cortado
