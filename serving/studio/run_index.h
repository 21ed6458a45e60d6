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

/// The runs below the studio's folder. A run is read again where its files changed, and seldom where reading it takes
/// long, so that watching costs a tenth of a core at the most.
class RunIndex {
 public:
  explicit RunIndex(const Folder& folder) : folder_(folder) {}

  /// The newest first: what tell() gives of each, with "curve": [iteration, loss], some 60 of them.
  Json list();
  /// {"path", "state", "process", "iter", "max_iter", "loss", "score": {"name", "value", "iter"}, ...}. Throws
  /// RequestError(kNotFound) where no run is there.
  Json tell(const std::string& path);

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
