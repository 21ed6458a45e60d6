#pragma once

// Reshapes for any batch size. Targets are as in Reshape: 0 copies the extent of the same axis, one -1 is inferred. All
// functions throw FieldError if the target has another number of elements than the blob.

#include <vector>

#include "core/shape.h"
#include "onnx/import/batch.h"
#include "proto/cortado.pb.h"

namespace cortado::importing {

/// Resolves a target to extents.
std::vector<int64_t> extents_of(const Shape& x, const std::vector<int64_t>& target);

/// Replaces the model's own batch size in a constant target by the batch; the number of elements before it must match
/// x. Throws FieldError also if the batch has no position or several.
std::vector<int64_t> with_batch(const Shape& x, std::vector<int64_t> target, const Batch& batch);

/// A Flatten if possible, else a Reshape. The batch is copied (0) or inferred (-1), never a constant.
caffe::LayerParameter reshape_layer(const Shape& x, const std::vector<int64_t>& target, const Batch& batch);

}  // namespace cortado::importing
