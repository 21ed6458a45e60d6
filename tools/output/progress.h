#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "tools/output/terminal.h"

namespace cortado::tools {

/// The progress of work that counts its items: a line on a terminal, and log lines for programs.
class CountedProgress {
 public:
  explicit CountedProgress(std::string title, bool logs = false);

  /// A function to call with the number of finished items and their total (-1: unknown). Must not outlive this object.
  std::function<void(int64_t done, int64_t total)> callback();
  void finish() { line_.erase(); }

 private:
  void update(int64_t done, int64_t total);
  void log(int64_t done, int64_t total);

  std::string title_;
  bool logs_;
  int64_t last_done_ = 0;
  ProgressLine line_;
  std::chrono::steady_clock::time_point start_, logged_{};
};

}  // namespace cortado::tools
