#pragma once

// Which snapshots of a run stay: keep_last and keep_best.

#include <cstdint>
#include <set>
#include <string>

#include "proto/cortado.pb.h"

namespace cortado {

/// Makes PREFIX_best.caffemodel the weights of the snapshot of iteration `iter` (with ema_decay their average): a link
/// where the file system has links. Does nothing where there are no such weights. Throws Error(kIo).
void link_best(const caffe::SolverParameter& config, int64_t iter);

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
