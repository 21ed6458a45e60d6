#pragma once

// Constants that a model expands to its batch, as the class token of a vision transformer is.

#include <optional>

#include "onnx/import/batch.h"
#include "onnx/import/constant.h"

namespace cortado::importing {

/// The only axis whose extent is `extent`; -1 if there is none, or several.
int only_axis_of(const Shape& shape, int64_t extent);

/// The constant with one sample along `axis`; nothing if the samples differ.
std::optional<Constant> one_sample(const Constant& constant, int axis);

/// A constant that is broadcast to a blob of shape `x`: with one sample if it has the batch where x has it, and all
/// samples are the same. Others are returned unchanged.
Constant without_batch(const Constant& constant, const Shape& x, const Batch& batch);

}  // namespace cortado::importing
