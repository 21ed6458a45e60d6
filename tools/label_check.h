#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "graph/graph.h"

namespace cortado::tools {

/// How many of a set's records had their labels looked at.
struct LabelsSeen {
  std::string source;
  int64_t records = 0, seen = 0;
};

/// What is wrong with the labels that layers of the graph take for classes: those that are none, with the first record
/// that has one. Sets of up to 100,000 records are looked at as a whole, of others 4096 that lie evenly; `seen`
/// receives a line for each set. The graph's shapes are known and its datasets open. Throws Error(kData).
std::vector<Mistake> label_mistakes(const graph::Graph& graph, std::vector<LabelsSeen>& seen);

}  // namespace cortado::tools
