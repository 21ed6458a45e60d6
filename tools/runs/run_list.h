#pragma once

// The state of runs, read from their files.

#include <cstdint>
#include <string>
#include <vector>

#include "tools/runs/run_scores.h"

namespace cortado::runs {

enum class RunState {
  kNew,           ///< created, without any computation yet
  kRunning,       ///< a process trains it; for a run of this process, until its events end it
  kFinished,      ///< at max_iter
  kStopped,       ///< by request, with a snapshot
  kStoppedEarly,  ///< by early_stop
  kDiverged,
  kFailed,  ///< ended by an error, which is in the metrics
  kKilled,  ///< ended without an event
};
std::string name_of(RunState state);  ///< "new", "running", "stopped_early" and so on

struct RunSummary {
  std::string path;  ///< the folder
  RunState state = RunState::kNew;
  int process = 0;  ///< the process that trains it; training_process()
  int64_t iter = 0, max_iter = 0;
  double loss = 0;
  std::vector<std::string> lowest;  ///< names_of_lowest()
  std::vector<BestScore> best;      ///< test scores
  bool is_tested = false;           ///< also if only before the first update
  double created = 0, latest = 0;   ///< seconds since 1970; latest: of the last event
  double seconds = 0;               ///< run time of its processes
  double images_per_second = 0;     ///< the latest value
  std::string snapshot;             ///< the latest solver state
  std::string problem;              ///< why it diverged or failed
  std::string solver;               ///< as the user named it
};

/// The score that represents the run. Null without tests of trained weights.
const BestScore* main_score(const RunSummary& run);

/// The run with the best value of a score, and the number of runs that have the score. `score` is "" for the main score
/// that most runs have.
struct BestRun {
  const RunSummary* run = nullptr;  ///< null: no run has the score
  BestScore best{};
  size_t runs = 0;
};
BestRun best_run(const std::vector<RunSummary>& runs, const std::string& score);

/// Throws Error(kUsage) if the folder is not a run, and as reading the record does.
RunSummary read_run(const std::string& folder);

/// The latest run in the same folder that started before this one; "" if there is none. Reads records only.
std::string run_before(const std::string& folder);

/// The runs below `folder` (tools/runs/run_finder.h), the newest first. Warns of those that cannot be read. Throws
/// Error(kIo) if the folder does not exist.
std::vector<RunSummary> list_runs(const std::string& folder);

}  // namespace cortado::runs
