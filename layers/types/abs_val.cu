// AbsVal: y = |x|. y does not determine the sign of x, so backward reads x; the slope at 0 is 0.

#include <cmath>

#include "layers/common/loops/function_layer.h"

namespace cortado {

namespace {

struct AbsVal {
  static constexpr BackwardReads kReads = BackwardReads::kX;
  static constexpr bool kKeepsZero = true;

  CORTADO_HD static float value(float x) { return fabsf(x); }
  CORTADO_HD static float gradient(float dy, float x) { return x > 0 ? dy : x < 0 ? -dy : 0; }
};

const RegisterLayer register_abs_val(function_type<AbsVal>("AbsVal", "the absolute value", "", LayerFamily::kOther));

}  // namespace

}  // namespace cortado
