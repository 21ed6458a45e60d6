#pragma once

#include <string>
#include <system_error>
#include <vector>

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

}  // namespace cortado
