// Sigmoid: y = 1 / (1 + e^-x). The slope is y (1 - y), so backward reads y. sigmoid(0) is not 0, so it runs in blocks
// of 16 channels only if no lane is padding.

#include <cmath>

#include "layers/common/loops/function_layer.h"
#include "layers/type_names.h"

namespace cortado {

namespace {

struct Sigmoid {
  static constexpr BackwardReads kReads = BackwardReads::kY;
  static constexpr bool kKeepsZero = false;
  static constexpr kernels::Activation::Kind kPostOp = kernels::Activation::kSigmoid;

  CORTADO_HD static float value(float x) { return 1 / (1 + expf(-x)); }
  CORTADO_HD static float gradient(float dy, float y) { return dy * y * (1 - y); }
};

const RegisterLayer register_sigmoid(function_type<Sigmoid>(type_names::kSigmoid, "1 / (1 + e^-x)", "sigmoid_param"));

}  // namespace

}  // namespace cortado
