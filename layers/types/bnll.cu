// BNLL: y = ln(1 + e^x), computed without overflow of e^x. The slope is 1 / (1 + e^-x) = 1 - e^-y, so backward reads y
// and forward may overwrite x. f(0) is not 0, so it runs in blocks of 16 channels only if no lane is padding.

#include <cmath>

#include "layers/common/loops/function_layer.h"

namespace cortado {

namespace {

struct Bnll {
  static constexpr BackwardReads kReads = BackwardReads::kY;
  static constexpr bool kKeepsZero = false;

  CORTADO_HD static float value(float x) { return (x > 0 ? x : 0) + log1pf(expf(-fabsf(x))); }
  CORTADO_HD static float gradient(float dy, float y) { return dy * -expm1f(-y); }
};

const RegisterLayer register_bnll(function_type<Bnll>("BNLL", "ln(1 + e^x)"));

}  // namespace

}  // namespace cortado
