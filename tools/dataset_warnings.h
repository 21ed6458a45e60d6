#pragma once

#include <vector>

#include "core/error.h"
#include "graph/graph.h"

namespace cortado::tools {

/// Data layers whose backend is LevelDB, by their word or by the language's default, and whose source is no LMDB yet.
std::vector<Mistake> leveldb_warnings(const graph::Graph& graph);

}  // namespace cortado::tools
