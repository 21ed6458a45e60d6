#pragma once

#include <chrono>
#include <thread>

namespace cortado {

/// Calls `attempt` until it says yes or a second has passed, and returns what it said last. For locks: what a process
/// that was killed had begun to start may hold its locks a moment longer than itself.
template <typename Attempt>
bool succeeds_within_a_second(const Attempt& attempt) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(1);
  while (!attempt()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace cortado
