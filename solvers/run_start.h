#pragma once

// Where a run starts. It is found before the run's nets are built, because a snapshot decides their seed and kernels.

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
  /// Of the solver's prefix. Null where it is taken with the first snapshot: where only a request or a stop writes
  /// them, or with SolverOptions::shares_prefix.
  std::unique_ptr<SnapshotLock> lock;
  SnapshotLock::Holder prefix_holder = SnapshotLock::Holder::kTraining;
  std::optional<Snapshot> snapshot;   ///< to resume from
  std::vector<std::string> weights;   ///< files to start from where there is no snapshot
  std::vector<std::string> warnings;  ///< about the above and the solver, logged already
  RankShare share;
  std::string device_engine;  ///< SolverOptions::device_engine
};

/// Finds what a solver resumes or starts from. Sets context.seed: the solver's
/// random_seed, or that of the snapshot, or one picked and logged; the kernels of the snapshot; and the solver's
/// shards. Of several ranks all but the first are told by it, once it has its nets. Throws Error for every mistake.
RunStart prepare_run(SolverConfig& config, const SolverOptions& options, Context& context);

}  // namespace cortado
