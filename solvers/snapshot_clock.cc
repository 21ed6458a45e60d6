#include "solvers/snapshot_clock.h"

#include <cstdlib>

#include "core/error.h"

namespace cortado {

namespace {

constexpr double kLongest = 365.0 * 24 * 3600;

double seconds_in(const std::string& unit) {
  if (unit == "s") return 1;
  if (unit == "m" || unit == "min") return 60;
  return unit == "h" ? 3600 : 0;
}

}  // namespace

double seconds_of_interval(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end) * seconds_in(end);
  if (seconds > 0 && seconds <= kLongest) return seconds;
  throw FieldError("snapshot_every", "snapshot_every is '" + text + "', which is no time",
                   "a number and s, m or h: snapshot_every: \"10m\"");
}

SnapshotClock::SnapshotClock(const std::string& every) {
  if (!every.empty())
    every_ = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds_of_interval(every)));
}

bool SnapshotClock::is_due() {
  if (every_ == Clock::duration::zero()) return false;
  const Clock::time_point now = Clock::now();
  if (now - last_ < every_) return false;
  last_ = now;
  return true;
}

}  // namespace cortado
