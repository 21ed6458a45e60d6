#pragma once

// Which snapshots of a run stay: keep_last and keep_best.

#include <cstdint>
#include <string>

#include "proto/cortado.pb.h"

namespace cortado {

/// Makes PREFIX_best.caffemodel the weights of the snapshot of iteration `iter` (with ema_decay their average): a link
/// where the file system has links. Does nothing where there are no such weights. Throws Error(kIo).
void link_best(const caffe::SolverParameter& config, int64_t iter);

/// Removes the snapshots of the run `run` but the newest keep_last ones and that of iteration `best`. Nothing is
/// removed unless the newest one can be read and is whole: a disk may lose what it said that it has. Returns how many
/// went; -1 where the newest one is not whole. Throws nothing; what cannot be removed stays.
int prune_snapshots(const caffe::SolverParameter& config, const std::string& run, int64_t best);

}  // namespace cortado
