#pragma once

#include <chrono>
#include <string>

namespace cortado {

/// The seconds that snapshot_every names: "90s", "10m", "1.5h". Throws FieldError about it for anything else, and for
/// what is not above 0.
double seconds_of_interval(const std::string& text);

/// When snapshots are due by the clock.
class SnapshotClock {
 public:
  /// `every`: snapshot_every; "" is never. Throws as seconds_of_interval().
  explicit SnapshotClock(const std::string& every);

  /// Whether so much time has passed since this was made, or since this last said so.
  bool is_due();

 private:
  using Clock = std::chrono::steady_clock;
  Clock::duration every_{};
  Clock::time_point last_ = Clock::now();
};

}  // namespace cortado
