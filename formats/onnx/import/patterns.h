#pragma once

// Groups of nodes that one operator stands for, since exporters write some functions as what they are made of, and
// nodes that nobody needs.

#include "onnx/import/model_file.h"
#include "onnx/import/net_builder.h"

namespace cortado::importing {

/// x (1 + erf(x / sqrt 2)) / 2 becomes a Gelu, in whichever order it is multiplied.
void merge_gelu(onnx::GraphProto& graph, const ModelFile& file);

/// Takes out what no output of the graph needs.
void remove_dead_nodes(onnx::GraphProto& graph);

/// Layers that one layer stands for become that one, which is faster and what a user would have written: a product and
/// a Bias an InnerProduct, x sigmoid(x) a Swish, channels that are dealt out by a Permute between two Reshapes a
/// ShuffleChannel.
void merge_layers(NetBuilder& net);

}  // namespace cortado::importing
