#pragma once

// The start of a run. It is found before the run's nets are built, because a snapshot determines their seed and
// kernels.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/context.h"
#include "solvers/rank_share.h"
#include "solvers/snapshot.h"
#include "solvers/solver_nets.h"

namespace cortado {

struct RunStart {
  /// Of the solver's prefix. Null if it is taken with the first snapshot: if only a request or a stop writes snapshots,
  /// or with SolverOptions::shares_prefix.
  std::unique_ptr<SnapshotLock> lock;
  SnapshotLock::Holder prefix_holder = SnapshotLock::Holder::kTraining;
  std::optional<Snapshot> snapshot;   ///< to resume from
  std::vector<std::string> weights;   ///< files to load without a snapshot
  std::vector<std::string> warnings;  ///< about the start and the solver; already logged
  RankShare share;
  std::string device_engine;  ///< SolverOptions::device_engine
};

/// Finds the snapshot or weights that a solver starts from. Sets context.seed: the solver's random_seed, or that of the
/// snapshot, or a random one, which is logged. Also sets the threads and kernels of the snapshot and the solver's
/// shards. With several ranks the first one does this and later sends the results to the others. Throws Error.
RunStart prepare_run(SolverConfig& config, const SolverOptions& options, Context& context);

}  // namespace cortado
