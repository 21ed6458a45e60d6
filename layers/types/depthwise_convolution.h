#pragma once

// Depthwise convolution is Convolution with one group for each channel of x, and all that Convolution has: its kernels,
// its weights (K x 1 x H x W, to be exchanged with a Convolution's), its fusions. convolution_param may leave out
// `group`, and `num_output`, which then is the number of channels.

#include <memory>
#include <string>

#include "layers/registry.h"

namespace cortado {

/// Says what `options` leave out for an x of so many channels. Throws FieldError where they say something else.
void fill_in_depthwise(caffe::ConvolutionParameter& options, int64_t channels);

/// Made by layers/types/convolution.cu.
std::unique_ptr<Layer> make_depthwise_convolution(const LayerOptions& options);

/// What is registered of it, under each of its names.
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
