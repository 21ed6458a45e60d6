#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "studio/folder.h"
#include "studio/request.h"

namespace cortado::studio {

/// The runs in the studio's folder. A run is read again if its files changed, but less often if reading it takes long,
/// so that polling uses at most a tenth of a core.
class RunIndex {
 public:
  explicit RunIndex(const Folder& folder) : folder_(folder) {}

  /// All runs, newest first: objects as below with "curve", about 60 points [iteration, loss].
  Json list();
  /// {"path", "state", "process", "iter", "max_iter", "loss", "score": {"name", "value", "iter"}, ...}. Throws
  /// RequestError(kNotFound) if it is not a run.
  Json summary_of(const std::string& path);

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    Json summary;
    std::pair<int64_t, int> seen{-1, 0};  ///< bytes of metrics, process
    Clock::time_point read{};
    Clock::duration took{};
  };

  void find(const std::string& path, int depth, std::vector<std::string>& found) const;
  const Json& look(const std::string& path);

  const Folder& folder_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

}  // namespace cortado::studio
