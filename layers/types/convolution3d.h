#pragma once

// C3D's convolution over volumes, N x C x L x H x W, is Convolution over three spatial axes, and its transpose
// Deconvolution, with all their features. Only the options differ (layers/common/windows/volume_options.h). The weights
// are K x C x kernel_depth x kernel_size x kernel_size.

#include <memory>

#include "layers/layer.h"

namespace cortado {

/// Defined in layers/types/convolution.cu. Throws FieldError.
std::unique_ptr<Layer> make_volume_convolution(const LayerOptions& options);

/// Defined in layers/types/deconvolution.cu. Throws FieldError.
std::unique_ptr<Layer> make_volume_deconvolution(const LayerOptions& options);

}  // namespace cortado
