#pragma once

// Rules about shapes that many layers share. Their errors name the field and show the arithmetic.

#include <string>
#include <vector>

#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// Canonical index of an `axis` option: negative ones count from the end. Throws FieldError(field) if `shape`, the
/// shape of bottom[0], has no such axis.
int axis_of(const Shape& shape, int64_t axis, const std::string& field);

/// Throws FieldError("bottom[i]") at the first shape that differs from x[0].
void require_same_shapes(const std::vector<Shape>& x);

/// Throws FieldError("bottom[0]") if `shape` has fewer axes than `least`.
void require_axes(const Shape& shape, int least);

/// The shape in an option. Throws FieldError(field) for a negative extent, more than 32 axes or a size too large for
/// memory.
Shape shape_of(const caffe::BlobShape& message, const std::string& field);

/// Throws FieldError(field) unless `extent` is valid. The limit is small enough that sums of extents do not overflow.
void require_extent(int64_t extent, const std::string& field);

/// shape.count(). Throws FieldError(field) if it overflows.
int64_t count_of_elements(const Shape& shape, const std::string& field);

/// Whether blocks of 16 channels need no padding lanes, so that functions with f(0) != 0 may run in them.
inline bool fills_blocks(const Shape& shape) { return shape.axes() == 4 && shape[1] % 16 == 0; }

}  // namespace cortado
