// ReLU6: a ReLU (layers/types/relu.cu) with a ceiling of 6: y = min(max(x, 0), 6) + slope * min(x, 0), with slope =
// relu_param.negative_slope. dx is 0 from 6 on.

#include "layers/types/relu.h"

namespace cortado {

namespace {

class Relu6Layer final : public ReluLayer {
 public:
  explicit Relu6Layer(const LayerOptions& options) : ReluLayer(options, 6) {}
};

const RegisterLayer register_relu6(elementwise_type<Relu6Layer>("ReLU6", "max(x, 0), limited to 6", "relu_param"));

}  // namespace

}  // namespace cortado
