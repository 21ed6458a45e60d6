#pragma once

// The snapshots of a run: restores the one to resume from, writes new ones under the solver's prefix, and moves those
// of other runs out of the way.

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
  /// The references must outlive this object.
  Checkpointer(TrainState& state, Iteration& iteration, Evaluation& evaluation, Observers& observers);
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Prepares the start of the run: restores the snapshot, if any, checks that new snapshots will fit on the disk, and
  /// archives those of other runs. Throws Error.
  void begin(RunStart start);

  // Both are collective: the first rank writes the files, the other ranks take part in the communication.

  /// Writes a snapshot now. Throws Error as write_snapshot() does.
  void write();
  /// The same, unless the newest snapshot is already of this iteration. A write error does not end the training: it is
  /// reported and kept as failure() until a later snapshot is written.
  void try_write();

  /// Removes what keep_last permits, if a snapshot was proven since the last removal.
  void prune_proven();

  const std::optional<Error>& failure() const { return failure_; }
  const std::string& resumed_from() const { return resumed_from_; }  ///< path of the state file, or ""
  /// The identity of the training: from the snapshot, or a new one.
  const std::string& run() const { return run_; }

 private:
  const SnapshotPlan& plan() const { return state_.config.snapshots; }
  int64_t iter() const { return state_.progress.iter; }
  /// With local_steps each shard has its own history.
  int64_t shards_with_history() const { return state_.config.iteration.local_steps > 1 ? state_.share.shards : 1; }
  void warn(const std::string& text) { observers_.warn(state_.progress, text); }
  caffe::SolverState state_message();
  bool agrees_to_write();
  void gather();
  void write_gathered();
  void take_lock();
  void apply_retention();
  void prune();
  void restore(const Snapshot& snapshot);
  void restore_newest(const Snapshot& snapshot);
  void restore_average(const Snapshot& snapshot);
  void check_parts();
  void check_space();
  void archive_stale_snapshots();

  TrainState& state_;
  Iteration& iteration_;
  Evaluation& evaluation_;
  Observers& observers_;
  std::unique_ptr<SnapshotLock> lock_;  ///< null until the first snapshot if RunStart had none
  SnapshotLock::Holder holder_ = SnapshotLock::Holder::kTraining;
  std::vector<std::string> started_from_;  ///< weight files
  std::string run_, resumed_from_;
  std::optional<Error> failure_;
  int64_t pruned_at_ = -1;  ///< state_.proven_snapshot at the last removal
};

}  // namespace cortado
