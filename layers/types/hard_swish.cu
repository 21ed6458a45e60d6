// HardSwish: y = x r / 6 with r = min(max(x + 3, 0), 6). It is not monotonic, so backward reads x: the slope is 0 up to
// -3, 1 from 3 on, and (2 x + 3) / 6 between.

#include "layers/common/loops/function_layer.h"

namespace cortado {

namespace {

struct HardSwish {
  static constexpr BackwardReads kReads = BackwardReads::kX;
  static constexpr bool kKeepsZero = true;

  CORTADO_HD static float value(float x) {
    const float r = x + 3;
    return x * ((r < 0 ? 0 : r > 6 ? 6 : r) * (1 / 6.0f));
  }
  CORTADO_HD static float gradient(float dy, float x) {
    return dy * (x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) * (1 / 6.0f));
  }
};

const RegisterLayer register_hard_swish(function_type<HardSwish>("HardSwish", "x min(max(x + 3, 0), 6) / 6"));

}  // namespace

}  // namespace cortado
