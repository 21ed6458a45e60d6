// ConvolutionDepthwise: another fork's name for DepthwiseConvolution.

#include "layers/depthwise_convolution.h"
#include "layers/registry.h"

namespace cortado {

namespace {

const RegisterLayer registered({
    .name = "ConvolutionDepthwise",
    .help = "another name for DepthwiseConvolution",
    .options = "convolution_param",
    .least_x = 1,
    .most_x = -1,
    .least_y = 1,
    .most_y = -1,
    .make = make_depthwise_convolution,
});

}  // namespace

}  // namespace cortado
