#pragma once

#include <vector>

#include "onnx/import/node_reader.h"

namespace cortado::importing {

/// The sum, mean, ... over these axes, ascending. `keeps`: they become 1; otherwise they go.
Blob reduced(NodeReader& node, const Blob& x, const std::vector<int>& axes,
             caffe::ReductionParameter::ReductionOp operation, bool keeps = true);

/// The largest values over these axes, which become 1.
Blob largest(NodeReader& node, const Blob& x, const std::vector<int>& axes);

/// All axes from this one on.
std::vector<int> axes_from(const Shape& x, int axis);

}  // namespace cortado::importing
