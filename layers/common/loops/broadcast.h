#pragma once

// Which elements of x one element of a smaller tensor goes with: Scale and Bias have the same rule. The smaller
// tensor has the extents of x from `axis` on; it is repeated over the axes before and after them.

#include <string>
#include <vector>

#include "core/shape.h"

namespace cortado {

struct Broadcast {
  int axis = 1;  ///< the first axis of x that the smaller tensor has
  Shape shape;   ///< of the smaller tensor

  /// One number for each channel of an image, the usual case.
  bool per_channel(const Shape& x) const { return x.axes() == 4 && axis == 1 && shape.axes() == 1; }
};

/// The extents of x[0] from `axis`: `num_axes` of them (-1: all), or x[1]'s own where there are two bottoms.
/// `options` is the field that holds `axis` and `num_axes` ("scale_param"), for messages. Throws FieldError.
Broadcast broadcast_of(const std::vector<Shape>& x, int64_t axis, int64_t num_axes, const std::string& options);

}  // namespace cortado
