#pragma once

// One of the processes that a launcher starts.

#include <optional>
#include <string>
#include <vector>

#include "core/process/process.h"

namespace cortado::ranks {

class ChildProcess {
 public:
  struct Options {
    int rank;
    std::vector<std::string> command, environment;  ///< the complete environment: "NAME=value"
    int kept_fd = -1;                               ///< a descriptor that it inherits; -1: none
  };

  /// Starts this program. Throws Error(kDevice) where the system cannot create a process. The calling thread must
  /// outlive the process: when it ends, the system kills the process. Signals blocked in the thread are not blocked in
  /// it.
  explicit ChildProcess(const Options& options);

  int rank() const { return rank_; }
  bool runs() const { return !exit_code_; }
  /// Its standard error; -1 after it was closed, and for rank 0, which inherits this process's.
  int lines_fd() const { return lines_.fd(); }

  void signal(int number) const;
  /// Its exit code, or 128 + the number of the signal that ended it: once, after it ended.
  std::optional<int> reap();
  /// Whether a signal ended it.
  bool was_killed() const { return was_killed_; }
  /// Prints its complete lines so far, prefixed with its rank; after end of file, an incomplete last line too.
  void relay_lines();

 private:
  int rank_;
  std::optional<int> exit_code_;
  bool was_killed_ = false;
  Descriptor lines_;
  std::optional<Process> process_;
  std::string part_;  ///< an incomplete line
};

}  // namespace cortado::ranks
