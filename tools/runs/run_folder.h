#pragma once

// The folder of a run: all files that a training writes (docs/runs.md).

#include <string>

#include "core/files/descriptor.h"

namespace cortado::runs {

/// The files of a run.
struct RunPaths {
  explicit RunPaths(const std::string& folder);

  std::string folder;
  std::string record;       ///< run.json
  std::string solver;       ///< solver.prototxt, with all changes of the command line
  std::string log;          ///< log.txt
  std::string metrics;      ///< metrics.jsonl
  std::string layers;       ///< layers.jsonl
  std::string tensorboard;  ///< tb, a folder
  std::string snapshots;    ///< a folder
  std::string lock;         ///< locked while the training runs
  std::string report;       ///< report.html
};

bool is_run(const std::string& folder);  ///< whether it has a run.json of its own

/// Throws Error(kUsage) if the folder contains a run or other files. It may be missing, empty, or left by a training
/// that ended before its record was written.
void check_run_folder(const RunPaths& paths);

/// The lock of a run's folder. The system releases it when the process ends.
class RunLock {
 public:
  /// Throws Error(kIo), also if another process holds the lock.
  explicit RunLock(const RunPaths& paths);

 private:
  Descriptor file_;
};

/// The process that trains in the folder now. 0: none; -1: possibly one of another machine, on a network file system.
int training_process(const RunPaths& paths);

/// Appends log lines of this process to the run's log, too. At most one object exists at a time.
class RunLog {
 public:
  explicit RunLog(const RunPaths& paths);  ///< throws Error(kIo)
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

 private:
  Descriptor file_;
};

}  // namespace cortado::runs
