#pragma once

// Models with 16-bit floats (binary16), for smaller files and for devices that compute on them.

#include <set>
#include <string>

#include "onnx/schema.h"

namespace cortado::exporting {

/// Stores the weights of convolutions, products and recurrent nodes as 16-bit floats, with a Cast after each. Weights
/// beyond 65504 stay 32-bit floats.
void store_weights_in_half(onnx::GraphProto& graph);

/// Makes nodes compute on 16-bit floats, except `float_nodes` (by name) and those with constants beyond 65504. Inputs
/// and outputs of the graph stay 32-bit floats. Nodes must be in topological order.
void compute_in_half(onnx::GraphProto& graph, const std::set<std::string>& float_nodes);

/// Whether the results of a layer type need 32-bit floats: coordinates, indices, and sums of squares.
bool needs_floats(const std::string& type);

}  // namespace cortado::exporting
