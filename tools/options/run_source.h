#pragma once

// Nets and weights of run folders (docs/runs.md), for commands that use what was trained.

#include <string>

#include "solvers/snapshot.h"
#include "tools/options/flags.h"

namespace cortado::tools {

/// Whether --run, or --model in its place, names a run's folder.
bool names_run(const Arguments& arguments);

/// The arguments with --model and, unless given, --weights of the run that --run or --model names: its test net, and
/// its best or else newest weights, which are logged. Other arguments stay as they are. Throws Error(kUsage) where the
/// folder has no run, Error(kSnapshot) where the run has no weights yet.
Arguments with_run(const Arguments& arguments);

/// The weights that keep_best kept, else the newest; "" where there are none.
std::string trained_weights(const SnapshotPlan& snapshots);

}  // namespace cortado::tools
