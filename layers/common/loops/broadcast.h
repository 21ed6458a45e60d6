#pragma once

// Broadcasting of a smaller tensor over x, the common rule of Scale and Bias. The smaller tensor has the extents of x
// from `axis` on; it is repeated over the axes before and after them.

#include <string>
#include <vector>

#include "core/shape.h"

namespace cortado {

struct Broadcast {
  int axis = 1;  ///< the first axis of x that the smaller tensor covers
  Shape shape;   ///< of the smaller tensor

  /// The usual case: one number for each channel of an image.
  bool per_channel(const Shape& x) const { return x.axes() == 4 && axis == 1 && shape.axes() == 1; }
};

/// The extents of x[0] from `axis` on: `num_axes` of them (-1: all), or those of x[1] if there are two bottoms.
/// `options` is the field that holds `axis` and `num_axes` ("scale_param"), for messages. Throws FieldError.
Broadcast broadcast_of(const std::vector<Shape>& x, int64_t axis, int64_t num_axes, const std::string& options);

}  // namespace cortado
