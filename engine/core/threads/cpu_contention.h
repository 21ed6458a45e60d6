#pragma once

// Whether other processes take the CPUs that this one's threads want.

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/files/descriptor.h"

namespace cortado {

/// Of one thread, by what the scheduler tells of it: nanoseconds that it ran, and that it stood ready and waited for a
/// CPU. Alone on a machine it waits for less than 2 % of its time; beside one process that never rests, on two CPUs,
/// for 19 to 47 %.
class CpuContention {
 public:
  struct Times {
    int64_t ran, waited;
  };

  /// The calling thread's, which has to be the same in all calls. Looks ten times in a second. Where the system does
  /// not tell, false.
  bool now();

  /// What `times` since those given before say. It takes more to call a thread held up than to leave it at that.
  bool after(const Times& times);

 private:
  std::optional<Times> read() const;

  std::optional<Descriptor> file_;
  std::chrono::steady_clock::time_point next_look_;
  std::optional<Times> before_;
  bool held_up_ = false;
};

}  // namespace cortado
