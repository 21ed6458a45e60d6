#pragma once

// What --run and --resume add to `cortado train`: a folder with the run's record, its files as they are trained, log,
// metrics, events for TensorBoard and snapshots (runs/, docs/runs.md).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runs/layer_watch.h"
#include "runs/metrics_writer.h"
#include "runs/run_folder.h"
#include "runs/run_record.h"
#include "runs/tensorboard/event_writer.h"
#include "solvers/solver.h"
#include "tools/flags.h"
#include "tools/report/report_observer.h"

namespace cortado::tools {

std::vector<Flag> run_flags();

/// A run that --resume names.
struct ResumedRun {
  runs::RunPaths paths;
  runs::RunRecord record;

  /// Adds the flags that the run was begun with, where the command line does not give others. Throws Error(kUsage)
  /// where the folder is no run's, or where a flag says otherwise where to begin.
  explicit ResumedRun(Arguments& arguments);

  SolverFile solver() const;
  /// Goes to the folder that the run was begun in, where its paths begin. Throws Error(kIo).
  void enter_folder() const;
  /// The newest snapshot, or what the run began with where there is none.
  void choose_start(const SolverFile& file, SolverOptions& options) const;
};

/// Of the first rank.
class TrainingRun {
 public:
  /// Takes the folder, makes it unless `resumed`, and says in `file` where snapshots go. Throws Error.
  TrainingRun(const Arguments& arguments, const ResumedRun* resumed, SolverFile& file, const SolverOptions& options);

  /// The training is built and begins: it is recorded and watched from now on.
  void watch(Solver& solver);
  /// It could not go on.
  void fail(const std::string& text) { metrics_.write_error(text); }
  /// It has ended: its report is written, with what has to be computed for it.
  void report();
  const std::string& folder() const { return paths_.folder; }

 private:
  const Arguments& arguments_;
  runs::RunPaths paths_;
  runs::RunLock lock_;
  runs::RunLog log_;
  runs::MetricsWriter metrics_;
  runs::RunRecord record_;
  std::optional<runs::EventWriter> events_;
  std::optional<runs::LayerWatch> layers_;
  ReportObserver reports_;
};

}  // namespace cortado::tools
