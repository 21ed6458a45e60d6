#pragma once

// For layers that move only along height and width, in any layout: images of H x W positions, each several channels
// wide.

#include <vector>

#include "core/shape.h"
#include "core/tensor.h"

namespace cortado {

/// The channels of an N x C x H x W tensor that are contiguous at one position.
inline int64_t lanes_of(const TensorSpec& spec) {
  return spec.layout == Layout::kPlain ? 1 : spec.layout == Layout::kBlocked16 ? 16 : spec.shape[1];
}

// The graph uses it, too, so it is in a header without functors, which would need a .cu file.

/// Whether tensors of these shapes may be concatenated or split along `axis` in any layout: along the channels, in
/// whole blocks.
inline bool whole_blocks(const std::vector<Shape>& parts, int axis) {
  for (const Shape& part : parts)
    if (part.axes() != 4 || axis != 1 || part[1] % 16 != 0) return false;
  return true;
}

}  // namespace cortado
