#pragma once

// Nets are often written for one phase: with data layers in TRAIN only, and another file for testing.

#include <vector>

#include "graph/graph.h"
#include "proto/cortado.pb.h"

namespace cortado::graph {

/// The phases TRAIN and TEST that have layers in `state` (whose own phase is ignored), without one that has no data
/// layers and reads tops of data layers of the other. Never empty.
std::vector<caffe::Phase> phases_with_data(const caffe::NetParameter& net, const caffe::NetState& state);

/// The errors that a layer found in files (a mean image, a dataset), each with a note at the field of the net that
/// names the file.
std::vector<Diagnostic> with_names_of_files(std::vector<Diagnostic> mistakes, const Graph& graph, int source);

}  // namespace cortado::graph
