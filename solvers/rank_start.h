#pragma once

// What ranks have in common when a training starts. The first rank alone reads snapshots and weights and measures
// kernels; the others are told.

#include "solvers/iteration.h"
#include "solvers/rank_share.h"

namespace cortado {

/// How many shards an iteration has: the solver's, those of the snapshot (or null), as many as there are ranks. Sets
/// them where it is more than one. Throws Error(kUsage) for more ranks than shards, Error(kNet) where so many cannot
/// make local steps, or not on this device.
void settle_shards(SolverConfig& config, const caffe::TrainingState* snapshot, const ranks::Engine* engine,
                   const Context& context);

/// Throws Error(kUsage) for more ranks than shards.
void check_shards(int ranks, int64_t shards);

/// Multiplies base_lr as SolverOptions::scale_lr says; the shards are settled.
void scale_rate(SolverConfig& config, const std::string& how);

/// By the first rank, once it has its training net: the seed, the kernels, the number of threads and of shards. The
/// others wait for it before they build theirs, and set the shards and the context. Throws Error(kDevice) on a
/// rank whose CPU level or libraries compute otherwise.
void tell_conditions(ranks::Engine& engine, Net& net, int64_t shards);
void await_conditions(ranks::Engine& engine, SolverConfig& config, Context& context);

/// Collective: all ranks get the first one's weights, history and place in the training.
void share_state(ranks::Engine& engine, TrainState& state, Iteration& iteration);

/// Collective: throws Error(kInternal) that names the ranks whose weights are not the first one's.
void compare_weights(ranks::Engine& engine, Net& net, int64_t iter);

}  // namespace cortado
