#pragma once

#include <vector>

#include "core/error.h"
#include "graph/graph.h"

namespace cortado::tools {

/// Warnings of data layers whose backend is LevelDB, explicitly or by default, and whose source is not an LMDB yet.
std::vector<Diagnostic> leveldb_warnings(const graph::Graph& graph);

/// Warnings of data layers of a training net that read a set in order although it is sorted by class, so that batches
/// contain few classes. Checks at most 512 labels. The graph's datasets are open. Throws Error(kData).
std::vector<Diagnostic> sorted_warnings(const graph::Graph& graph);

/// Errors of data layers of a test net whose dataset names a label differently from the training net's: scores would be
/// of other classes. The graphs' datasets are open. Throws Error as class_names_of().
std::vector<Diagnostic> conflicting_name_errors(const graph::Graph& training, const graph::Graph& test);

}  // namespace cortado::tools
