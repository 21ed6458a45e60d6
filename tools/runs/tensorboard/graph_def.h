#pragma once

#include <string>

#include "graph/graph.h"

namespace cortado::runs {

/// The net as TensorBoard draws graphs: a node for each layer of the file that takes part, with its options; edges have
/// the blobs' shapes. The bytes of a GraphDef.
std::string graph_def_of(const graph::Graph& graph);

}  // namespace cortado::runs
