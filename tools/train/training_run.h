#pragma once

// The folder of `cortado train --run` and `--resume`: the run's record, resolved files, log, metrics, TensorBoard
// events and snapshots (runs/, docs/runs.md).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/files/made_folders.h"
#include "solvers/solver.h"
#include "tools/options/flags.h"
#include "tools/report/report_observer.h"
#include "tools/runs/layer_watch.h"
#include "tools/runs/metrics_writer.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_record.h"
#include "tools/runs/tensorboard/event_writer.h"

namespace cortado::tools {

std::vector<Flag> run_flags();

/// The run of --resume.
struct ResumedRun {
  runs::RunPaths paths;
  runs::RunRecord record;
  bool is_elsewhere = false;  ///< the program was not started in the record's folder

  /// Adds the flags of the run's start, unless the command line has others. Throws Error(kUsage) if the folder is not a
  /// run, or if a flag chooses a different start.
  explicit ResumedRun(Arguments& arguments);

  SolverFile solver() const;
  /// Changes to the folder in which the run was started, to which its paths are relative. Throws Error(kIo).
  void enter_folder() const;
  /// Chooses the newest snapshot, or the weights of the run's start if it has none.
  void choose_start(const std::string& prefix, SolverOptions& options) const;

 private:
  void add_flags(Arguments& arguments) const;
};

/// The run of a training, in its first rank.
class TrainingRun {
 public:
  /// Locks the folder, creates it unless `resumed`, and sets the snapshots' prefix in `config`. Before watch() only log
  /// lines are written, so an error until then leaves no new run, and an old one unchanged. Throws Error.
  TrainingRun(const Arguments& arguments, const ResumedRun* resumed, SolverConfig& config,
              const SolverOptions& options);
  ~TrainingRun();

  /// Writes the run's files when the training is built, and records and observes it from now on.
  void watch(Solver& solver);
  /// Records the error that ended the training.
  void fail(const std::string& text) {
    if (metrics_) metrics_->write_error(text);
  }
  /// Writes the report after the training, with the sections that need computation.
  void report();
  /// Shows where the report and the weights are, and the command that uses them.
  void show_results() const;
  /// `command` as it can be called from where the program was started.
  std::string from_start(const std::string& command) const;
  const std::string& folder() const { return paths_.folder; }

 private:
  void write_files(Solver& solver);

  const Arguments& arguments_;
  const SolverOptions& options_;
  const bool is_new_, is_elsewhere_;
  runs::RunPaths paths_;
  std::unique_ptr<MadeFolders> folders_;
  runs::RunLock lock_;
  runs::RunLog log_;
  std::optional<runs::MetricsWriter> metrics_;  ///< since watch()
  runs::RunRecord record_;
  SolverFile file_;
  std::optional<runs::EventWriter> events_;
  std::optional<runs::LayerWatch> layers_;
  ReportObserver reports_;
};

}  // namespace cortado::tools
