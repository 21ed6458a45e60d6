#pragma once

#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/files/descriptor.h"
#include "core/forks.h"
#include "core/function_ref.h"

namespace cortado {

/// Creates a folder for output. The destructor removes those folders that it created and that are still empty, so that
/// a failure before the first write leaves no trace.
class MadeFolders {
 public:
  /// Creates the folder and its missing ancestors like make_folders(). `failure` has the reason if that fails.
  MadeFolders(const std::string& folder, std::error_code& failure);
  ~MadeFolders();
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;

  bool any() const { return !made_.empty(); }

 private:
  std::vector<std::string> made_;  ///< absolute paths, outermost first
  MadeHere made_here_;
};

/// Removes temporary files and folders of ended processes that were to replace `path`: `path.tmp.PID`
/// (temporary_beside()). A file that is locked belongs to a running process, possibly of another machine, and stays.
/// Each folder is listed once per process. Never throws; files that cannot be removed stay.
void remove_leftovers(const std::string& path);

/// Removes all temporary files in `folder` whose target name satisfies `are_ours`. The caller must hold a lock that
/// excludes all other writers.
void remove_leftovers(const std::string& folder, FunctionRef<bool(std::string_view name)> are_ours);

/// Removes this user's files and folders in `folder` whose names are `begin`, the PID of an ended process, '.' or '-',
/// and more. A file or folder that is locked (flock) stays. With `is_start` the own PID counts as ended, too, because
/// each start in a container may have the same one; this process must not have made any yet.
void remove_left_in(const std::string& folder, const std::string& begin, bool is_start);

/// Opens a file or folder and locks it (flock), as its writer does to mark it as in use. Not ok() if it is locked
/// already, or cannot be opened.
Descriptor lock_if_free(const std::string& path);

/// Removes a file, or a folder with its content, unless it is locked. Never throws.
void remove_unless_locked(const std::string& path);

}  // namespace cortado
