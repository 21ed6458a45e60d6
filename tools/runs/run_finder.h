#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cortado::runs {

/// Finds the runs below a folder, at any depth. Skips hidden folders, links, and folders within runs. Remembers what a
/// folder contains until it changes, so that a further search costs a system call for each folder. Not thread-safe.
class RunFinder {
 public:
  /// The folders of runs, `folder` itself included, sorted by path. Each begins with `folder` as given.
  std::vector<std::string> find(const std::string& folder);

  /// The folders that the latest find() could not read.
  const std::vector<std::string>& unreadable() const { return unreadable_; }

 private:
  struct Content {
    timespec changed{};
    bool is_settled = false;  ///< read so long after the change that a further one has another time
    bool is_run = false;
    std::vector<std::string> folders;
  };

  const Content& content_of(const std::string& folder);
  void find(const std::string& folder, int levels, std::vector<std::string>& found);

  std::map<std::string, Content> known_, seen_;
  std::vector<std::string> unreadable_;
};

}  // namespace cortado::runs
