#pragma once

// A graph in a few numbers, so that what a pass did can be told in a line.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace cortado::graph {

class GraphStats {
 public:
  explicit GraphStats(const Graph& graph);

  /// The numbers that are not what they were, "nodes 71 -> 53; layers taken over 0 -> 18"; "none" where all are.
  std::string since(const GraphStats& before) const;

 private:
  std::vector<std::pair<std::string, int64_t>> counts_;
};

}  // namespace cortado::graph
