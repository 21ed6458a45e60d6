#pragma once

// Pooling over windows of three axes, of N x C x D x H x W: kernel_size_3d, stride_3d and pad_3d, each one number for
// all three axes or one for each. The number of windows along an axis and what an average is divided by are those of
// two axes (layers/common/pool_window.h). MAX and AVE; there is no second top.

#include <memory>

#include "layers/layer.h"

namespace cortado {

/// Throws FieldError. For pooling_param with kernel_size_3d.
std::unique_ptr<Layer> make_volume_pooling(const LayerOptions& options);

}  // namespace cortado
