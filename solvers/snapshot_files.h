#pragma once

// The snapshot files of one prefix, recognized by their names.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "solvers/snapshot.h"

namespace cortado {

struct SnapshotFile {
  int64_t iter;
  std::string path;
  bool is_state;            ///< a .solverstate; else weights, or their average
  bool is_average = false;  ///< of ema_decay
};

/// All of them, in no particular order. Only regular files count.
std::vector<SnapshotFile> list_snapshot_files(const std::string& prefix);

/// The folder to which old snapshots were moved, and their iterations; both empty if there were none.
struct SetAside {
  std::string folder;
  std::vector<int64_t> iterations;  ///< ascending
};

/// Moves the snapshots of `prefix` after iteration `start` into a new folder next to them, named after the prefix and
/// the date. A negative `start` means a fresh run: all are moved, including weights without a state and those of
/// keep_best. Files in `used` stay and also appear in the folder. The caller must hold the prefix's SnapshotLock.
/// Throws Error(kIo).
SetAside set_later_snapshots_aside(const std::string& prefix, int64_t start, const std::vector<std::string>& used);

// Retention of snapshots: keep_last and keep_best.

/// Links PREFIX_best.caffemodel to the weights of the snapshot of iteration `iter` (with ema_decay to their average),
/// or copies them if the file system has no links. Does nothing if these weights do not exist. Throws Error(kIo).
void link_best(const SnapshotPlan& plan, int64_t iter);

/// The iterations that keep_best keeps of a run: the one whose weights are PREFIX_best.caffemodel. If that file is
/// missing, damaged or of another run, the best iteration according to the run's newest readable state.
std::set<int64_t> best_iterations(const std::string& prefix, const std::string& run);

/// The newest state of the run before iteration `iter`; -1: none.
int64_t state_before(const std::string& prefix, const std::string& run, int64_t iter);

/// Whether the newest snapshot of a run ends its training, which has then computed a loss with its weights.
bool is_newest_at_end(const std::string& prefix, const std::string& run);

struct PruneOrder {
  std::string prefix;
  std::string run;               ///< the run whose snapshots are pruned
  int64_t keep_last = 1;         ///< number of the newest to keep
  std::set<int64_t> best = {};   ///< iterations to keep, too
  bool newest_is_proven = true;  ///< else the one before it is kept, too
  bool dry_run = false;          ///< remove nothing
};

struct PrunedSnapshots {
  bool newest_is_whole = true;        ///< else nothing is removed
  std::vector<int64_t> iterations{};  ///< of the removed snapshots, or those to remove, newest first
  std::vector<std::string> files{};   ///< that they consist of
};

/// Removes the other snapshots of the run. Removes nothing unless the newest one is readable and complete, because a
/// disk may lose data that it has acknowledged. Does not throw; skips files that cannot be removed.
PrunedSnapshots prune_snapshots(const PruneOrder& order);

}  // namespace cortado
