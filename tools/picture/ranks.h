#pragma once

// The steps of the layered drawing in layout.cc. A point is a node, or the place where a link passes a rank.

#include <cstddef>
#include <vector>

#include "tools/picture/layout.h"

namespace cortado::tools {

struct RankPoint {
  int node = -1;  ///< -1: a link passes
  int rank = 0;
  double width = 0;
  std::vector<int> above, below;  ///< points that it is joined to in the adjacent ranks
};

/// Points, and the order of each rank from left to right.
struct Ranks {
  std::vector<RankPoint> points;
  std::vector<std::vector<int>> order;
  std::vector<std::vector<int>> chains;  ///< for each link: its points, including both ends
};

/// The rank of each node: the length of the longest path to it. A node without predecessors is as low as its successors
/// allow.
std::vector<int> ranks_of(size_t nodes, const std::vector<Link>& links);

/// Ranks nodes, and splits links into pieces of one rank.
Ranks make_ranks(const std::vector<Extent>& nodes, const std::vector<Link>& links);

/// Orders each rank so that few links cross.
void order_ranks(Ranks& ranks);

/// The positions of the points across, by Brandes and Köpf's method: links are straight where possible, and points are
/// centred between their neighbours.
std::vector<double> place_points(const Ranks& ranks, const Spacing& spacing);

}  // namespace cortado::tools
