#pragma once

// GroupNorm has a header because InstanceNorm is a GroupNorm with a group for each channel.

#include "layers/common/weights/affine_weights.h"
#include "layers/layer.h"

namespace cortado {

/// `groups` 0: one for each channel. Throws FieldError.
std::unique_ptr<Layer> make_group_norm(const NormOptions& options, int64_t groups);

}  // namespace cortado
