// ReLU6: a ReLU (layers/relu.cu) that stops at 6: y = min(max(x, 0), 6) + slope * min(x, 0), with slope =
// relu_param.negative_slope. dx is 0 from 6 on.

#include "layers/registry.h"
#include "layers/relu.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make_relu6(const LayerOptions& options) { return std::make_unique<ReluLayer>(options, 6.0f); }

const RegisterLayer registered({
    .name = "ReLU6",
    .help = "x between 0 and 6, or a small slope below 0",
    .options = "relu_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_relu6,
});

}  // namespace

}  // namespace cortado
