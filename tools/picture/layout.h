#pragma once

// A layered drawing of a directed acyclic graph: each node is on a rank below its predecessors.

#include <vector>

namespace cortado::tools {

/// `across`: within a rank; `along`: from rank to rank.
struct Extent {
  double across = 0, along = 0;
};

/// Links of one `port` leave their node at one point. `from` < `to` in the order of nodes.
struct Link {
  int from = 0, to = 0, port = 0;
};

struct Spacing {
  double nodes = 28;   ///< between neighbours of a rank
  double routes = 14;  ///< between a link that passes a rank, and its neighbours
  double ranks = 36;
};

struct Drawing {
  std::vector<Extent> centres;  ///< of the nodes
  /// For each link, pairs of points: a straight line along, from the first to the second of a pair, past a rank; a
  /// curve to the next pair.
  std::vector<std::vector<Extent>> routes;
  Extent size;
};

/// Throws Error(kNet) if links pass too many ranks for a legible picture.
Drawing lay_out(const std::vector<Extent>& nodes, const std::vector<Link>& links, const Spacing& spacing);

}  // namespace cortado::tools
