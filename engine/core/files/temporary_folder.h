#pragma once

#include <string>
#include <string_view>

#include "core/files/descriptor.h"
#include "core/forks.h"

namespace cortado {

/// A folder that only this user can read, removed with its content by the destructor. It is locked (flock) until then.
class TemporaryFolder {
 public:
  /// Creates `NAME-PID-XXXXXX` where TMPDIR says. Throws Error(kIo).
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Removes those of ended processes. Call it before this process makes one.
  static void remove_left(const std::string& name);

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file of this name and returns its path. Throws Error(kIo).
  std::string add(const std::string& name, std::string_view content) const;

 private:
  std::string path_;
  Descriptor lock_;
  MadeHere made_here_;
};

}  // namespace cortado
