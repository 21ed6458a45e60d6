#pragma once

// Depthwise convolution is Convolution with one group for each channel of x, and all that Convolution has: its kernels,
// its weights (K x 1 x H x W, to be exchanged with a Convolution's), its fusions. convolution_param may leave out
// `group`, and `num_output`, which then is the number of channels.

#include <memory>

#include "layers/layer.h"

namespace cortado {

/// Says what `options` leave out for an x of so many channels. Throws FieldError where they say something else.
void fill_in_depthwise(caffe::ConvolutionParameter& options, int64_t channels);

/// Made by layers/types/convolution.cu.
std::unique_ptr<Layer> make_depthwise_convolution(const LayerOptions& options);

}  // namespace cortado
