#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "graph/graph.h"

namespace cortado::tools {

/// How many of a set's records had their labels checked.
struct LabelsSeen {
  std::string source;
  int64_t records = 0, seen = 0;
};

/// What is wrong with the labels that layers of the graph take for classes: those that are none, with the first record
/// that has one. Of sets of up to 100,000 records all are checked, of others 4096 at even distances; `seen`
/// receives a line for each set. The graph's shapes are known and its datasets open. Throws Error(kData).
std::vector<Mistake> label_mistakes(const graph::Graph& graph, std::vector<LabelsSeen>& seen);

}  // namespace cortado::tools
