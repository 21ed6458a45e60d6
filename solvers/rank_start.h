#pragma once

// How ranks start a training. Only the first rank reads snapshots and weights and measures kernels; it sends the
// results to the others.

#include "solvers/iteration.h"
#include "solvers/rank_share.h"

namespace cortado {

/// Sets the number of shards of an iteration: the solver's, or else the snapshot's (may be null), or else the number of
/// ranks. Throws Error(kUsage) for more ranks than shards, and Error(kNet) if local steps do not work with this number
/// or on this device.
void settle_shards(SolverConfig& config, const caffe::TrainingState* snapshot, const ranks::Engine* engine,
                   const Context& context);

/// Throws Error(kUsage) for more ranks than shards.
void check_shards(int ranks, int64_t shards);

/// Multiplies base_lr according to SolverOptions::scale_lr; the number of shards must be known.
void scale_rate(SolverConfig& config, const std::string& how);

/// Called by the first rank once it has its training net: sends the seed, the kernels, and the numbers of threads and
/// shards. The other ranks receive them before they build their nets. Throws Error(kDevice) on a rank with a different
/// CPU level or different libraries.
void tell_conditions(ranks::Engine& engine, Net& net, int64_t shards);
void await_conditions(ranks::Engine& engine, SolverConfig& config, Context& context);

/// Collective: sends the first rank's weights, history, carried states and progress to all ranks.
void share_state(ranks::Engine& engine, TrainState& state, Iteration& iteration);

/// Collective: throws Error(kInternal) that lists the ranks whose weights differ from the first one's.
void compare_weights(ranks::Engine& engine, Net& net, int64_t iter);

}  // namespace cortado
