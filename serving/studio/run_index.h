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
#include "tools/runs/files_in_use.h"
#include "tools/runs/run_finder.h"

namespace cortado::studio {

/// The runs in the studio's folder. A run is read again if its files changed, but less often if reading it takes long,
/// so that polling uses at most a tenth of a core.
class RunIndex {
 public:
  explicit RunIndex(const Folder& folder) : folder_(folder) {}

  /// The 500 newest runs, newest first: objects as below with "curve", about 60 points [iteration, loss]. Runs whose
  /// files cannot be read have the state "unreadable" and the reason as "problem".
  Json list();
  /// What running trainings use, of all runs.
  runs::FilesInUse in_use();
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

  std::vector<std::string> find();
  const Json& look(const std::string& path);

  const Folder& folder_;
  std::mutex mutex_;
  runs::RunFinder finder_;
  std::map<std::string, Known> known_;
};

}  // namespace cortado::studio
