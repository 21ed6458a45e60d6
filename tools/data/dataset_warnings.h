#pragma once

#include <vector>

#include "core/error.h"
#include "graph/graph.h"

namespace cortado::tools {

/// Data layers whose backend is LevelDB, by their `backend` or by the language's default, and whose source is no LMDB
/// yet.
std::vector<Diagnostic> leveldb_warnings(const graph::Graph& graph);

/// Data layers of a training net that read a set in its order where that is sorted by class, so that batches hold few
/// of them; found by at most 512 labels along it. The graph's datasets are open. Throws Error(kData).
std::vector<Diagnostic> sorted_warnings(const graph::Graph& graph);

/// Data layers of a test net whose dataset calls a label otherwise than one of the training net's does: scores would be
/// of other classes. The graphs' datasets are open. Throws Error as class_names_of().
std::vector<Diagnostic> name_mistakes(const graph::Graph& training, const graph::Graph& test);

}  // namespace cortado::tools
