#pragma once

#include <vector>

#include "core/error.h"
#include "graph/graph.h"

namespace cortado::tools {

/// Data layers whose backend is LevelDB, by their `backend` or by the language's default, and whose source is no LMDB
/// yet.
std::vector<Mistake> leveldb_warnings(const graph::Graph& graph);

/// Data layers of a training net that read a set in its order where that is sorted by class, so that batches hold few
/// of them; found by at most 512 labels along it. The graph's datasets are open. Throws Error(kData).
std::vector<Mistake> sorted_warnings(const graph::Graph& graph);

}  // namespace cortado::tools
