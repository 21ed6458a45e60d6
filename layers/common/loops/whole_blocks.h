#pragma once

// Asked by the graph, too, so in a header without functors: those are for .cu files.

#include <vector>

#include "core/shape.h"

namespace cortado {

/// Whether tensors of these shapes may be joined or cut along `axis` in any layout: along the channels, in whole
/// blocks.
inline bool whole_blocks(const std::vector<Shape>& parts, int axis) {
  for (const Shape& part : parts)
    if (part.axes() != 4 || axis != 1 || part[1] % 16 != 0) return false;
  return true;
}

}  // namespace cortado
