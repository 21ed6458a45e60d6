#pragma once

// Merges nodes, which makes the model smaller and faster.

#include <map>
#include <string>

#include "core/shape.h"
#include "onnx/schema.h"

namespace cortado::exporting {

/// Merges per-channel factors and terms (Mul, Add) into a BatchNormalization before them: BatchNorm and Scale become
/// one node. With `fold`, also merges these and normalizations into the filters of a convolution or a Gemm before them.
/// `shapes` has the known shapes of values by name.
void merge_channel_maps(onnx::GraphProto& graph, const std::map<std::string, Shape>& shapes, bool fold);

/// Merges a recurrent node between two reversals of its steps into one with direction "reverse".
void merge_reversed_steps(onnx::GraphProto& graph);

}  // namespace cortado::exporting
