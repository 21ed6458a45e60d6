#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cortado::runs {

/// What trainings use that run now: their folders, and the files that they were started with. Files are known by device
/// and inode, so neither links nor other spellings of a path hide them.
class FilesInUse {
 public:
  /// `folders`: of runs, for example from RunFinder. Those that no process trains add nothing.
  explicit FilesInUse(const std::vector<std::string>& folders);

  /// The folder of a run that uses `path`, something in it, or a folder that contains it; "" if there is none.
  std::string user_of(const std::string& path) const;

 private:
  using Id = std::pair<dev_t, ino_t>;

  void add(const std::string& path, const std::string& run);

  std::map<Id, std::string> used_, above_used_;  ///< the run that uses it, or something in it
};

}  // namespace cortado::runs
