#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "tools/output/terminal.h"

namespace cortado::tools {

/// The progress line of work that counts its items.
class CountedProgress {
 public:
  explicit CountedProgress(std::string title);

  /// A function to call with the number of finished items and their total (-1: unknown). Must not outlive this object.
  std::function<void(int64_t done, int64_t total)> callback();
  void finish() { line_.erase(); }

 private:
  void update(int64_t done, int64_t total);

  std::string title_;
  ProgressLine line_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace cortado::tools
