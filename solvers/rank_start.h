#pragma once

// What ranks have in common when a training starts. The first rank alone reads snapshots and weights and measures
// kernels; the others are told.

#include "solvers/rank_share.h"
#include "solvers/train_state.h"

namespace cortado {

/// How many shards an iteration has: `file`'s, those of the snapshot (or null), as many as there are ranks. Sets
/// file.solver.shards where it is more than one. Throws Error(kUsage) for more ranks than shards.
void settle_shards(SolverFile& file, const caffe::TrainingState* snapshot, const ranks::Engine* engine,
                   const Context& context);

/// Throws Error(kUsage) for more ranks than shards.
void check_shards(int ranks, int64_t shards);

/// Throws FieldError where so many shards cannot make local steps, or not on this device.
void check_shards_of_local_steps(const caffe::SolverParameter& solver, int64_t shards, const Context& context);

/// Multiplies base_lr as SolverOptions::scale_lr says; the shards are settled.
void scale_rate(caffe::SolverParameter& solver, const std::string& how);

/// By the first rank, once it has its training net: the seed, the kernels, the number of threads and of shards. The
/// others wait for it before they build theirs, and set file.solver.shards and the context. Throws Error(kDevice) on a
/// rank whose CPU level or libraries compute otherwise.
void tell_conditions(ranks::Engine& engine, Net& net, int64_t shards);
void await_conditions(ranks::Engine& engine, SolverFile& file, Context& context);

/// Collective: all ranks get the first one's weights, history and place in the training.
void share_state(ranks::Engine& engine, TrainState& state);

/// Collective: throws Error(kInternal) that names the ranks whose weights are not the first one's.
void compare_weights(ranks::Engine& engine, Net& net, int64_t iter);

}  // namespace cortado
