#pragma once

// The files that snapshots of one prefix lie in, told by their names.

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

/// All of them, in no order. What is no regular file is no snapshot.
std::vector<SnapshotFile> list_snapshot_files(const std::string& prefix);

/// Where snapshots went that were in the way, and of which iterations they are; neither where there were none.
struct SetAside {
  std::string folder;
  std::vector<int64_t> iterations;  ///< ascending
};

/// Moves the snapshots of `prefix` past iteration `start` into a new folder beside them, named after the prefix and the
/// date. A run that starts fresh has a negative `start`: all go, also weights without a state and those of keep_best.
/// Files of `used` stay and are in the folder as well. To be called with the prefix's SnapshotLock held. Throws
/// Error(kIo).
SetAside set_later_snapshots_aside(const std::string& prefix, int64_t start, const std::vector<std::string>& used);

// Which snapshots of a run stay: keep_last and keep_best.

/// Makes PREFIX_best.caffemodel the weights of the snapshot of iteration `iter` (with ema_decay their average): a link
/// where the file system has links. Does nothing where there are no such weights. Throws Error(kIo).
void link_best(const SnapshotPlan& plan, int64_t iter);

/// The iterations that keep_best wants of a run: the one whose weights PREFIX_best.caffemodel is, and where that is
/// none of the run's, for the file may be missing, damaged or of another run, the one that the run's newest readable
/// state calls the best.
std::set<int64_t> best_iterations(const std::string& prefix, const std::string& run);

struct PruneOrder {
  std::string prefix;
  std::string run;              ///< whose snapshots are looked at
  int64_t keep_last = 1;        ///< so many of the newest stay
  std::set<int64_t> best = {};  ///< iterations that stay, too
};

/// Removes the other snapshots of the run. Nothing is removed unless the newest one can be read and is whole: a disk
/// may lose what it said that it has. Returns how many went; -1 where the newest one is not whole. Throws nothing; what
/// cannot be removed stays.
int prune_snapshots(const PruneOrder& order);

}  // namespace cortado
