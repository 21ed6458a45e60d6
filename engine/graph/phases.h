#pragma once

// Nets are often written for one phase: data layers in TRAIN alone, because a file of its own tests.

#include <vector>

#include "graph/graph.h"
#include "proto/cortado.pb.h"

namespace cortado::graph {

/// Of TRAIN and TEST those that `net` has layers for in `state` (whose own phase does not count), less one that reads
/// what only data layers of the other make, and has none of its own. Never empty.
std::vector<caffe::Phase> phases_with_data(const caffe::NetParameter& net, const caffe::NetState& state);

/// The mistakes that a layer found in files (a mean image, a dataset), each with a note at the field of the net that
/// names the file.
std::vector<Diagnostic> with_names_of_files(std::vector<Diagnostic> mistakes, const Graph& graph, int source);

}  // namespace cortado::graph
