#include "layers/types/depthwise_convolution.h"

#include "core/error.h"
#include "core/text/text.h"

namespace cortado {

namespace {

constexpr char kConvolutionDepthwise[] = "ConvolutionDepthwise";

}  // namespace

caffe::ConvolutionParameter depthwise_options(const caffe::LayerParameter& layer) {
  caffe::ConvolutionParameter options = layer.convolution_param();
  if (layer.type() == kConvolutionDepthwise) {
    options.clear_group();
    options.clear_num_output();
  }
  return options;
}

void fill_in_depthwise(caffe::ConvolutionParameter& options, int64_t channels) {
  if (channels > INT32_MAX)
    throw FieldError("bottom[0]", "it has " + std::to_string(channels) + " channels, which is too large");
  if (!options.has_group()) options.set_group(uint32_t(channels));
  if (!options.has_num_output()) options.set_num_output(uint32_t(channels));
  if (int64_t(options.group()) != channels)
    throw FieldError("convolution_param.group",
                     "group is " + std::to_string(options.group()) + ", but bottom[0] has " +
                         count_of(channels, "channel", "channels") + ", each with separate filters",
                     "remove group, or use a Convolution");
}

namespace {

const RegisterLayer register_depthwise_convolution(depthwise_type("DepthwiseConvolution",
                                                                  "convolution with separate filters for each channel"),
                                                   kConvolutionDepthwise,
                                                   "convolution with one filter for each channel; num_output and "
                                                   "group are not read");

}  // namespace

}  // namespace cortado
