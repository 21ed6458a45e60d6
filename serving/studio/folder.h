#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/descriptor.h"

namespace cortado::studio {

/// A file or folder of a listing.
struct Entry {
  std::string name;
  bool is_folder = false;
  int64_t bytes = 0;
  double changed = 0;  ///< seconds since 1970
};

/// The folder that the studio works in. Requests name what is in it by relative paths; "" is the folder itself. What
/// leads out is refused: "..", absolute paths, and links, wherever they point, so that nobody can put one in between.
class Folder {
 public:
  explicit Folder(const std::string& path);  ///< throws Error(kIo) where it is none

  const std::string& root() const { return root_; }  ///< absolute, without links

  // All throw RequestError: kForbidden for what leads out, kNotFound for what is not there.

  /// The absolute path of something that is there, or could be made.
  std::string at(const std::string& path) const;
  /// The same of a file that is there, for flags that take lists: without a comma, which would make two of it.
  std::string file_at(const std::string& path) const;
  bool has(const std::string& path) const;
  /// A regular file's content, kTooLarge beyond `most` bytes.
  std::string read(const std::string& path, int64_t most) const;
  /// `most` bytes of it at the most, from `offset` on.
  std::string read_part(const std::string& path, int64_t offset, int64_t most) const;
  int64_t size(const std::string& path) const;
  /// Without hidden ones, sorted by name, folders first; links are left out.
  std::vector<Entry> list(const std::string& path) const;
  /// Makes it and those above it.
  void make(const std::string& path) const;

 private:
  std::string root_;
  Descriptor folder_;
};

/// A name that is a path's part and no surprise in any tool: letters, digits, '_', '-', '.', no '.' in front, 64
/// characters at the most. Throws RequestError(kInvalid).
const std::string& checked_name(const std::string& name);

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
