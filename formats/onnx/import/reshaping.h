#pragma once

// Blobs in other shapes, for any batch. Targets are as Reshape has them: 0 keeps the extent at the same place, one -1
// is worked out. All throw FieldError where the target does not hold the blob's elements.

#include <vector>

#include "core/shape.h"
#include "onnx/import/batch.h"
#include "proto/cortado.pb.h"

namespace cortado::importing {

/// The extents that a target comes to.
std::vector<int64_t> extents_of(const Shape& x, const std::vector<int64_t>& target);

/// A target that the model has as numbers, its own batch among them, with the batch in its place: the values before it
/// are as many as in x. Throws FieldError, too, where the batch has no place, or several are possible.
std::vector<int64_t> with_batch(const Shape& x, std::vector<int64_t> target, const Batch& batch);

/// A Flatten where it is that, else a Reshape. The batch is kept or worked out, never a number.
caffe::LayerParameter reshape_layer(const Shape& x, const std::vector<int64_t>& target, const Batch& batch);

}  // namespace cortado::importing
