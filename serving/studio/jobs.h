#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "studio/child.h"
#include "studio/request.h"

namespace cortado::studio {

/// Children that take longer than a request should, such as a conversion. They end with the studio.
class Jobs {
 public:
  Jobs() = default;
  ~Jobs();  ///< ends the children
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  struct Work {
    std::string title;
    std::vector<std::string> words;
    std::string folder;                                  ///< working folder of the child
    std::function<void(const ChildResult&)> done;        ///< called if it exits with 0
    std::function<void(pid_t)> clean_up = [](pid_t) {};  ///< called if it does not
  };

  /// Starts a job and returns its number. Throws RequestError(kBusy) if four are running.
  int64_t start(Work work);
  /// {"id", "title", "state": running, done, failed or stopped, "output": the end of its stderr, "progress": {"done",
  /// "total", "pass": how often the count began} or null}. Throws RequestError(kNotFound).
  Json json(int64_t id) const;
  Json json_of_all() const;
  void stop(int64_t id);

 private:
  struct Job;
  std::shared_ptr<Job> find(int64_t id) const;

  mutable std::mutex mutex_;
  std::map<int64_t, std::shared_ptr<Job>> jobs_;
  int64_t last_ = 0;
};

}  // namespace cortado::studio
