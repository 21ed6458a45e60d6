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

/// Outputs of a net are the blobs that no layer reads. An output of the model that others read, too, becomes the top of
/// a Split; an input that is an output keeps its name, and the Split's top has another one. A Silence reads other
/// blobs.
void keep_outputs(NetBuilder& net);

}  // namespace cortado::importing
