#pragma once

// For layers that move over height and width alone, whatever the layout: images of H x W places, each so many channels
// wide.

#include <vector>

#include "core/shape.h"
#include "core/tensor.h"

namespace cortado {

/// The channels of an N x C x H x W tensor whose values for one place lie together.
inline int64_t lanes_of(const TensorSpec& spec) {
  return spec.layout == Layout::kPlain ? 1 : spec.layout == Layout::kBlocked16 ? 16 : spec.shape[1];
}

// Asked by the graph, too, so in a header without functors: those are for .cu files.

/// Whether tensors of these shapes may be joined or cut along `axis` in any layout: along the channels, in whole
/// blocks.
inline bool whole_blocks(const std::vector<Shape>& parts, int axis) {
  for (const Shape& part : parts)
    if (part.axes() != 4 || axis != 1 || part[1] % 16 != 0) return false;
  return true;
}

}  // namespace cortado
