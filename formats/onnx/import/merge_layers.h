#pragma once

#include "onnx/import/net_builder.h"

namespace cortado::importing {

/// Layers that one layer stands for become that one, which is faster and what a user would have written: a product and
/// a Bias an InnerProduct, x sigmoid(x) a Swish, channels that are dealt out by a Permute between two Reshapes a
/// ShuffleChannel.
void merge_layers(NetBuilder& net);

}  // namespace cortado::importing
