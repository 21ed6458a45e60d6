#pragma once

// The snapshots of a run: takes up the one that it resumes from, writes new ones under the solver's prefix, and keeps
// those of other runs from mixing with them.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "solvers/evaluation.h"
#include "solvers/iteration.h"
#include "solvers/observer.h"
#include "solvers/run_start.h"
#include "solvers/train_state.h"

namespace cortado {

class Checkpointer {
 public:
  /// References outlive this.
  Checkpointer(TrainState& state, Iteration& iteration, Evaluation& evaluation, Observers& observers);
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Brings the run to where it starts: restores the snapshot, if there is one, checks that snapshots will fit, and
  /// moves those of other runs out of the way. Throws Error.
  void begin(RunStart start);

  // Both are collective: of several ranks the first one writes, and the others have a part in it.

  /// Writes a snapshot now. Throws Error as write_snapshot() does.
  void write();
  /// The same unless the newest one is of this iteration. Training is worth more than one of its snapshots: what the
  /// disk refuses is reported and kept as failure() until a later one is written.
  void try_write();

  const std::optional<Error>& failure() const { return failure_; }
  const std::string& resumed_from() const { return resumed_from_; }  ///< path of the state, or ""
  /// The identity of the training: that of the snapshot, or a new one.
  const std::string& run() const { return run_; }

 private:
  const SnapshotPlan& plan() const { return state_.config.snapshots; }
  int64_t iter() const { return state_.progress.iter; }
  /// With local_steps each shard has a history of its own.
  int64_t shards_with_history() const { return state_.config.iteration.local_steps > 1 ? state_.share.shards : 1; }
  void warn(const std::string& text) { observers_.warn(state_.progress, text); }
  caffe::SolverState state_message();
  bool agrees_to_write();
  void write_gathered();
  void take_lock();
  void apply_retention();
  void restore(const Snapshot& snapshot);
  void restore_average(const Snapshot& snapshot);
  void check_parts();
  void check_space();
  void archive_stale_snapshots();

  TrainState& state_;
  Iteration& iteration_;
  Evaluation& evaluation_;
  Observers& observers_;
  std::unique_ptr<SnapshotLock> lock_;  ///< null until the first snapshot, where the start had none
  SnapshotLock::Holder holder_ = SnapshotLock::Holder::kTraining;
  std::vector<std::string> started_from_;  ///< files of weights
  std::string run_, resumed_from_;
  std::optional<Error> failure_;
};

}  // namespace cortado
