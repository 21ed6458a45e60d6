#pragma once

// Rules about shapes that many layers share. Their mistakes name the field and show the arithmetic.

#include <string>
#include <vector>

#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// `axis` of an option, counted from the front; negative ones count from the end. Throws FieldError(field) when
/// `shape`, the shape of bottom[0], has no such axis.
int axis_of(const Shape& shape, int64_t axis, const std::string& field);

/// Throws FieldError("bottom[i]") at the first shape that is not x[0]'s.
void require_same_shapes(const std::vector<Shape>& x);

/// Throws FieldError("bottom[0]") when `shape` has fewer axes than `least`.
void require_axes(const Shape& shape, int least);

/// The shape that an option spells out. Throws FieldError(field) for a negative extent, more than 32 axes or a size
/// that no memory has.
Shape shape_of(const caffe::BlobShape& message, const std::string& field);

/// Throws FieldError(field) unless `extent` is one that memory may have. Small enough for sums of extents to stay in
/// range.
void require_extent(int64_t extent, const std::string& field);

/// shape.count(). Throws FieldError(field) where it overflows.
int64_t count_of_elements(const Shape& shape, const std::string& field);

/// Whether storage in blocks of 16 channels has no padding lanes, so that functions with f(0) != 0 may run in it.
inline bool fills_blocks(const Shape& shape) { return shape.axes() == 4 && shape[1] % 16 == 0; }

}  // namespace cortado
