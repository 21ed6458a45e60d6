#pragma once

// What is clearer, and faster, as fewer nodes than there were layers.

#include <map>
#include <string>

#include "core/shape.h"
#include "onnx/schema.h"

namespace cortado::exporting {

/// Factors and terms of channels (Mul, Add) go into a BatchNormalization before them: BatchNorm and Scale become one
/// node. With `fold`, these and normalisations also go into the filters of a convolution or a Gemm before them.
/// `shapes`: of values by name, as far as they are known.
void merge_channel_maps(onnx::GraphProto& graph, const std::map<std::string, Shape>& shapes, bool fold);

/// A recurrent node between two that turn its steps round runs backwards instead.
void merge_reversed_steps(onnx::GraphProto& graph);

}  // namespace cortado::exporting
