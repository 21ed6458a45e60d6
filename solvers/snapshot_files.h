#pragma once

// The files that snapshots of one prefix lie in, told by their names.

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace cortado
