#pragma once

#include <string>
#include <string_view>

namespace cortado::studio {

/// A folder outside of the studio's, for a moment: texts that are looked at, pictures that are made.
class TemporaryFolder {
 public:
  TemporaryFolder();  ///< throws RequestError(kUnavailable) where none can be made
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file of this name and returns its path. Throws Error(kIo).
  std::string add(const std::string& name, std::string_view content) const;

 private:
  std::string path_;
};

}  // namespace cortado::studio
