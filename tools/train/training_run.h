#pragma once

// What --run and --resume add to `cortado train`: a folder with the run's record, its files as they are trained, log,
// metrics, events for TensorBoard and snapshots (runs/, docs/runs.md).

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
Flag keep_last_flag(const std::string& fallback, int64_t least);

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
  void choose_start(const std::string& prefix, SolverOptions& options) const;

 private:
  void add_flags(Arguments& arguments) const;
};

/// Of the first rank.
class TrainingRun {
 public:
  /// Takes the folder, makes it unless `resumed`, and says in `config` where snapshots go. Nothing but log lines is
  /// written before watch(): what is refused until then leaves no new run, and an old one as it was. Throws Error.
  TrainingRun(const Arguments& arguments, const ResumedRun* resumed, SolverConfig& config,
              const SolverOptions& options);
  ~TrainingRun();

  /// The training is built and begins: its files are written, and it is recorded and watched from now on.
  void watch(Solver& solver);
  /// It could not go on.
  void fail(const std::string& text) {
    if (metrics_) metrics_->write_error(text);
  }
  /// It has ended: its report is written, with what has to be computed for it.
  void report();
  const std::string& folder() const { return paths_.folder; }

 private:
  void write_files(Solver& solver);

  const Arguments& arguments_;
  const SolverOptions& options_;
  const bool is_new_;
  runs::RunPaths paths_;
  std::unique_ptr<MadeFolders> folders_;
  runs::RunLock lock_;
  runs::RunLog log_;
  std::optional<runs::MetricsWriter> metrics_;  ///< from watch() on
  runs::RunRecord record_;
  SolverFile file_;
  std::optional<runs::EventWriter> events_;
  std::optional<runs::LayerWatch> layers_;
  ReportObserver reports_;
};

}  // namespace cortado::tools
