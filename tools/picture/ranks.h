#pragma once

// The parts of a layered drawing that layout.cc puts together. A point is a node, or where a link passes a rank.

#include <cstddef>
#include <vector>

#include "tools/picture/layout.h"

namespace cortado::tools {

struct RankPoint {
  int node = -1;  ///< -1: of a link
  int rank = 0;
  double width = 0;
  std::vector<int> above, below;  ///< points that it is joined to, one rank off
};

/// Points, and each rank's from left to right.
struct Ranks {
  std::vector<RankPoint> points;
  std::vector<std::vector<int>> order;
  std::vector<std::vector<int>> chains;  ///< of each link: its points, both ends included
};

/// The rank of each node: as far down as the longest way to it; where nothing leads to it, as low as what it leads to
/// lets it be.
std::vector<int> ranks_of(size_t nodes, const std::vector<Link>& links);

/// Gives nodes their ranks and cuts links into pieces of one rank.
Ranks make_ranks(const std::vector<Extent>& nodes, const std::vector<Link>& links);

/// Orders each rank so that few links cross.
void order_ranks(Ranks& ranks);

/// Where the points' centres lie across, by Brandes and Köpf's method: links straight where they can be, and every
/// point in the middle of those it is joined to as far as neighbours let it.
std::vector<double> place_points(const Ranks& ranks, const Spacing& spacing);

}  // namespace cortado::tools
