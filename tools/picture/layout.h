#pragma once

// A layered drawing of a directed graph without cycles: every node on a rank below those it comes from.

#include <vector>

namespace cortado::tools {

/// Across is the direction within a rank, along is from rank to rank.
struct Extent {
  double across = 0, along = 0;
};

/// Links of one `port` leave their node at one point. `from` < `to` in the order of nodes.
struct Link {
  int from = 0, to = 0, port = 0;
};

struct Spacing {
  double nodes = 28;   ///< between neighbours of a rank
  double routes = 14;  ///< between a link that passes a rank and its neighbours
  double ranks = 36;
};

struct Drawing {
  std::vector<Extent> centres;  ///< of the nodes
  /// Of each link, points to go through in pairs: straight along from the first of a pair to the second, past a rank,
  /// and in any bend to the next pair.
  std::vector<std::vector<Extent>> routes;
  Extent size;
};

/// Throws Error(kNet) where links pass so many ranks that a picture of them would say nothing.
Drawing lay_out(const std::vector<Extent>& nodes, const std::vector<Link>& links, const Spacing& spacing);

}  // namespace cortado::tools
