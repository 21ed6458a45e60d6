#pragma once

// Nets and weights of run folders (docs/runs.md), for commands that use a trained net.

#include <string>

#include "solvers/snapshot.h"
#include "tools/options/flags.h"

namespace cortado::tools {

/// The arguments with --model and, unless given, --weights of the run that --run or --model names. --model is its test
/// net; --weights are its best or else newest weights, which are logged. Other arguments are kept. Throws Error(kUsage)
/// if the folder is not a run, Error(kSnapshot) if the run has no weights yet.
Arguments with_run(const Arguments& arguments);

/// The weights of keep_best, else the newest; "" if there are none.
std::string trained_weights(const SnapshotPlan& snapshots);

}  // namespace cortado::tools
