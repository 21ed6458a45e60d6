// ConvolutionDepthwise: another fork's name for DepthwiseConvolution.

#include "layers/types/depthwise_convolution.h"

namespace cortado {

namespace {

const RegisterLayer register_convolution_depthwise(depthwise_type("ConvolutionDepthwise",
                                                                  "another name for DepthwiseConvolution"));

}  // namespace

}  // namespace cortado
