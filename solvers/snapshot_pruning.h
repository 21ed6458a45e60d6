#pragma once

// Which snapshots of a run stay: keep_last and keep_best.

#include <cstdint>
#include <string>

#include "proto/cortado.pb.h"

namespace cortado {

/// Makes PREFIX_best.caffemodel the weights of the snapshot of iteration `iter` (with ema_decay their average): a link
/// where the file system has links. Does nothing where there are no such weights. Throws Error(kIo).
void link_best(const caffe::SolverParameter& config, int64_t iter);

/// The iteration whose weights PREFIX_best.caffemodel is, of those that are there; -1 where there is none.
int64_t best_iteration(const std::string& prefix);

struct PruneOrder {
  std::string prefix;
  std::string run;        ///< whose snapshots are looked at
  int64_t keep_last = 1;  ///< so many of the newest stay
  int64_t best = -1;      ///< an iteration that stays, too
};

/// Removes the other snapshots of the run. Nothing is removed unless the newest one can be read and is whole: a disk
/// may lose what it said that it has. Returns how many went; -1 where the newest one is not whole. Throws nothing; what
/// cannot be removed stays.
int prune_snapshots(const PruneOrder& order);

}  // namespace cortado
