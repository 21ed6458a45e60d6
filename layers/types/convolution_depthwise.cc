// ConvolutionDepthwise: another fork's name for DepthwiseConvolution.

#include "layers/registry.h"
#include "layers/types/depthwise_convolution.h"

namespace cortado {

namespace {

const RegisterLayer registered({
    .name = "ConvolutionDepthwise",
    .help = "another name for DepthwiseConvolution",
    .options = "convolution_param",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_depthwise_convolution,
});

}  // namespace

}  // namespace cortado
