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
  std::vector<Extent> centres;              ///< of the nodes
  std::vector<std::vector<Extent>> routes;  ///< of each link: points to go through; between the 1st and 2nd, 3rd and 4th, ... of them
                                            ///< the way may bend, between the 2nd and 3rd, ... it is straight past a rank
  Extent size;
};

/// Throws Error(kUsage) where links pass so many ranks that a picture of them would say nothing.
Drawing lay_out(const std::vector<Extent>& nodes, const std::vector<Link>& links, const Spacing& spacing);

}  // namespace cortado::tools
