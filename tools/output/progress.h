#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "tools/output/terminal.h"

namespace cortado::tools {

/// The progress line of work that counts what it has done.
class CountedProgress {
 public:
  explicit CountedProgress(std::string title);

  /// To be called with what is done and what there is in all (-1: not known); lives no longer than this.
  std::function<void(int64_t done, int64_t total)> callback();
  void finish() { line_.erase(); }

 private:
  void update(int64_t done, int64_t total);

  std::string title_;
  ProgressLine line_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace cortado::tools
