#pragma once

#include <vector>

#include "graph/graph.h"

namespace cortado::graph {

/// The mistakes that a layer found in files (a mean image, a dataset), each with a note at the field of the net that
/// names the file.
std::vector<Mistake> with_names_of_files(std::vector<Mistake> mistakes, const Graph& graph, int source);

}  // namespace cortado::graph
