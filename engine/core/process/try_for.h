#pragma once

#include <chrono>
#include <thread>

namespace cortado {

/// Calls `attempt` until it returns true or a second has passed; returns the last result. For locks: children of a
/// killed process may hold its locks slightly longer.
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
