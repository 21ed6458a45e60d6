#pragma once

// Depthwise convolution is Convolution with one group for each channel of x. It shares Convolution's kernels, fusions
// and weight format (K x 1 x H x W). convolution_param may omit `group`, and `num_output`, which then is the number of
// channels. ConvolutionDepthwise never reads the two: it has one filter for each channel.

#include <memory>
#include <string>

#include "layers/registry.h"

namespace cortado {

/// The options of a layer of either type, without those that it does not read.
caffe::ConvolutionParameter depthwise_options(const caffe::LayerParameter& layer);

/// Sets the omitted fields of `options` for an x with this number of channels. Throws FieldError for contradicting
/// ones.
void fill_in_depthwise(caffe::ConvolutionParameter& options, int64_t channels);

/// Defined in layers/types/convolution.cu.
std::unique_ptr<Layer> make_depthwise_convolution(const LayerOptions& options);

/// Its registration, under each of its names.
inline LayerType depthwise_type(const std::string& name, const std::string& help) {
  return {.name = name,
          .help = help,
          .options = "convolution_param",
          .min_bottoms = 1,
          .max_bottoms = -1,
          .min_tops = 1,
          .max_tops = -1,
          .make = make_depthwise_convolution,
          .family = LayerFamily::kConvolution};
}

}  // namespace cortado
