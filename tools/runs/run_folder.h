#pragma once

// A run folder: everything that one training reads and leaves, in one place (docs/runs.md).

#include <string>

namespace cortado::runs {

/// The files of a run.
struct RunPaths {
  explicit RunPaths(const std::string& folder);

  std::string folder;
  std::string record;       ///< run.json
  std::string solver;       ///< solver.prototxt, with all that the command line set
  std::string log;          ///< log.txt
  std::string metrics;      ///< metrics.jsonl
  std::string layers;       ///< layers.jsonl
  std::string tensorboard;  ///< tb, a folder
  std::string snapshots;    ///< a folder
  std::string lock;         ///< held as long as the training lives
  std::string report;       ///< report.html
};

bool is_run(const std::string& folder);  ///< it has a record

/// Throws Error(kUsage) where the folder holds a run or anything else: it may be missing, empty, or what a start left
/// that ended before it had a record.
void check_run_folder(const RunPaths& paths);

/// The right to train in a run folder. The system takes it back when the process ends, however it ends.
class RunLock {
 public:
  /// Throws Error(kIo), also while another process trains there.
  explicit RunLock(const RunPaths& paths);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int file_;
};

/// The process that trains in the folder now; 0: none, -1: one of another machine, perhaps (a network's file system).
int training_process(const RunPaths& paths);

/// Log lines of this process go to the run's log as well, behind what is there. One at a time.
class RunLog {
 public:
  explicit RunLog(const RunPaths& paths);  ///< throws Error(kIo)
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

 private:
  int file_;
};

}  // namespace cortado::runs
