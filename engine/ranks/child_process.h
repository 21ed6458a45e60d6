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
    std::vector<std::string> command, environment;  ///< the environment whole: "NAME=value"
    int kept_fd = -1;                               ///< a descriptor that it has, too; -1: none
  };

  /// Starts this program anew. Throws Error(kDevice) where the system gives no more processes. To be called by a thread
  /// that lives as long as they shall: the system kills them when it ends. Signals that the thread blocks are not
  /// blocked in them.
  explicit ChildProcess(const Options& options);

  int rank() const { return rank_; }
  bool runs() const { return !exit_code_; }
  /// Where its standard error is read; -1 for rank 0, which has ours, and when it is closed.
  int lines_fd() const { return lines_.fd(); }

  void signal(int number) const;
  /// Its exit code, or 128 + the signal that ended it, once, when it has ended.
  std::optional<int> reap();
  /// It has ended by a signal, and not by an exit of its own.
  bool was_killed() const { return was_killed_; }
  /// Shows its whole lines that have come, with its rank before them; those that have no end yet when it has closed
  /// its end.
  void relay_lines();

 private:
  int rank_;
  std::optional<int> exit_code_;
  bool was_killed_ = false;
  Descriptor lines_;
  std::optional<Process> process_;
  std::string part_;  ///< of a line
};

}  // namespace cortado::ranks
