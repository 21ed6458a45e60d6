#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "graph/graph.h"

namespace cortado::graph {

/// A layer's FieldError with its place in the file and the layer: "layer 'conv1' (Convolution): ...". If the file does
/// not have the field, so that the place is that of the layer, the message names the field.
Diagnostic layer_mistake(const Graph& graph, int source, const FieldError& error, std::vector<Note> notes = {});
Diagnostic layer_mistake(const Graph& graph, const Node& node, const FieldError& error, std::vector<Note> notes = {});

}  // namespace cortado::graph
