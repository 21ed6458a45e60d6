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

/// The net and the weights of a run.
struct RunSource {
  std::string net;      ///< the path of its test net, or of the net of both phases
  std::string stages;   ///< of the test net, separated by commas
  std::string weights;  ///< the weights of keep_best, else the newest; "" if there are none
  bool is_best = false;
};
/// Throws Error as reading the solver does, Error(kUsage) if it names no net for testing.
RunSource source_of_run(const std::string& folder);

/// The weights of keep_best, else the newest; "" if there are none.
std::string trained_weights(const SnapshotPlan& snapshots);

}  // namespace cortado::tools
