#pragma once

// What is known of a run without training it.

#include <cstdint>
#include <string>
#include <vector>

#include "tools/runs/metrics_file.h"

namespace cortado::runs {

enum class RunState {
  kNew,           ///< made, and nothing has been computed
  kRunning,       ///< a process trains it now; this process's own run has ended once its events say so
  kFinished,      ///< at max_iter
  kStopped,       ///< on request, with a snapshot
  kStoppedEarly,  ///< by early_stop
  kDiverged,
  kFailed,  ///< an error ended it; it has been told
  kKilled,  ///< ended without a word
};
std::string name_of(RunState state);  ///< "new", "running", "stopped_early" and so on

struct RunSummary {
  std::string path;  ///< the folder
  RunState state = RunState::kNew;
  int process = 0;  ///< that trains it; training_process()
  int64_t iter = 0, max_iter = 0;
  double loss = 0;
  std::vector<MetricRow::Best> best;  ///< test scores
  double created = 0, latest = 0;     ///< seconds since 1970; the last event's
  double seconds = 0;                 ///< that its processes have run
  double images_per_second = 0;       ///< the last
  std::string snapshot;               ///< the state that was written last
  std::string problem;                ///< why it diverged or failed
  std::string solver;                 ///< as it was named
};

/// The score that a run is told by: the first that is no loss, else the first; null where nothing was tested.
const MetricRow::Best* main_score(const RunSummary& run);

/// Throws Error(kUsage) where the folder is no run's, and what reading the record throws.
RunSummary read_run(const std::string& folder);

/// The run beside this one that was begun last before it; "" where there is none. Reads records alone.
std::string run_before(const std::string& folder);

/// The runs in `folder` and up to four folders below it, the newest first. Folders within runs and links are not looked
/// into, runs whose record cannot be read are left out. Throws Error(kIo) where there is no such folder.
std::vector<RunSummary> list_runs(const std::string& folder);

}  // namespace cortado::runs
