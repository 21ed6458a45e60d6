#pragma once

#include <vector>

#include "solvers/rank_share.h"

namespace cortado {

/// What all ranks agree on after an iteration's passes.
struct ShardOutcome {
  double loss = 0;   ///< mean over all passes
  int requests = 0;  ///< Request flags of all ranks together
};

/// Collective: from the mean loss of each of this rank's shards and its own requests. The losses of all shards are
/// added in their order.
ShardOutcome gather_outcome(const RankShare& share, const std::vector<double>& losses, int requests);

}  // namespace cortado
