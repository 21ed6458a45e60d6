#pragma once

// Merges groups of nodes that one operator can replace, because exporters decompose some functions, and removes dead
// nodes.

#include "onnx/import/model_file.h"
#include "onnx/import/net_builder.h"

namespace cortado::importing {

/// Merges x (1 + erf(x / sqrt 2)) / 2, with its factors in any order, into a Gelu.
void merge_gelu(onnx::GraphProto& graph, const ModelFile& file);

/// Removes nodes that no output depends on.
void remove_dead_nodes(onnx::GraphProto& graph);

/// Merges layers, which makes the net faster and the prototxt shorter: a product and a Bias into an InnerProduct,
/// x sigmoid(x) into a Swish, and a Permute between two Reshapes that shuffles channels into a ShuffleChannel.
void merge_layers(NetBuilder& net);

}  // namespace cortado::importing
