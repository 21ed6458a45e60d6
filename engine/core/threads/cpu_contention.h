#pragma once

// Detects whether other processes compete for this process's CPUs.

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/files/descriptor.h"
#include "core/forks.h"

namespace cortado {

/// Contention of one thread, from the scheduler's statistics: nanoseconds that it ran, and that it was runnable but
/// waited for a CPU. On an idle machine the thread waits for less than 2 % of its time. With one other busy process on
/// two CPUs it waits for 19 to 47 %.
class CpuContention {
 public:
  struct Times {
    int64_t ran, waited;
  };

  /// Whether the calling thread suffers contention. Call it always from the same thread. Samples ten times per second.
  /// False if the system has no statistics.
  bool now();

  /// Evaluates `times` relative to the previous call. Uses hysteresis: the threshold to begin is higher than the one to
  /// end.
  bool after(const Times& times);

 private:
  std::optional<Times> read() const;

  std::optional<Descriptor> file_;  ///< of this thread
  MadeHere made_here_;
  std::chrono::steady_clock::time_point next_look_;
  std::optional<Times> before_;
  bool held_up_ = false;
};

}  // namespace cortado
