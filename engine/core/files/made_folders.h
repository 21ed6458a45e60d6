#pragma once

#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/function_ref.h"

namespace cortado {

/// A folder that something may be written to. At the end those folders that were made for it and are still empty go
/// again: what fails before it has anything to write leaves no trace.
class MadeFolders {
 public:
  /// Makes the folder and those above it that are missing, as make_folders() does. `failure` says why it could not.
  MadeFolders(const std::string& folder, std::error_code& failure);
  ~MadeFolders();
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;

  bool any() const { return !made_.empty(); }

 private:
  std::vector<std::string> made_;  ///< absolute, the outermost first
};

/// Removes what processes that are gone were writing to put in the place of `path`: `path.tmp.PID`, files and folders
/// (temporary_beside()). One that another process has locked is not its, whatever its number: it may be another
/// machine's. A process lists each folder once. Throws nothing; what cannot be removed stays.
void remove_leftovers(const std::string& path);

/// Removes the files that anybody was writing to put in the place of files in `folder` that `are_ours` says yes to, by
/// their names: for the holder of a lock that lets nobody else write them.
void remove_leftovers(const std::string& folder, FunctionRef<bool(std::string_view name)> are_ours);

}  // namespace cortado
