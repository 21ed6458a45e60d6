#pragma once

#include <vector>

#include "onnx/import/node_reader.h"

namespace cortado::importing {

/// The axes that a reduction node removes from x, in order: its `axes`, or all.
std::vector<int> reduced_axes(const NodeReader& node, const Shape& x);

/// The shape with these axes set to 1, or removed.
std::vector<int64_t> result_shape(const Shape& x, const std::vector<int>& axes, bool keeps);

/// The sum, mean, ... over these axes, ascending. `keeps`: they become 1; otherwise they go.
Blob reduced(NodeReader& node, const Blob& x, const std::vector<int>& axes,
             caffe::ReductionParameter::ReductionOp operation, bool keeps = true);

/// The largest values over these axes, which become 1.
Blob largest(NodeReader& node, const Blob& x, const std::vector<int>& axes);

/// All axes from this one on.
std::vector<int> axes_from(const Shape& x, int axis);

}  // namespace cortado::importing
