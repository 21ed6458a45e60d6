#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/descriptor.h"

namespace cortado::studio {

/// An entry of a listing.
struct Entry {
  std::string name;
  bool is_folder = false;
  int64_t bytes = 0;
  double changed = 0;  ///< seconds since 1970
};

/// The studio's folder. Requests name its content by relative paths; "" is the folder itself. Paths that lead out are
/// refused: "..", absolute paths, and all links (even those that point inside, because they may be replaced at any
/// time).
class Folder {
 public:
  explicit Folder(const std::string& path);  ///< throws Error(kIo) if it is not a folder

  const std::string& root() const { return root_; }  ///< absolute, with links resolved

  // All throw RequestError: kForbidden for paths that lead out, kNotFound for missing ones.

  /// The absolute path of an existing or a new file or folder.
  std::string at(const std::string& path) const;
  /// The same for an existing file, for flags that take lists. Refuses commas, which separate list elements.
  std::string file_at(const std::string& path) const;
  bool has(const std::string& path) const;
  /// The content of a regular file. Throws kTooLarge above `most` bytes.
  std::string read(const std::string& path, int64_t most) const;
  /// At most `most` bytes, from `offset` on.
  std::string read_part(const std::string& path, int64_t offset, int64_t most) const;
  int64_t size(const std::string& path) const;
  /// Sorted by name, folders first, without hidden entries and links.
  std::vector<Entry> list(const std::string& path) const;
  /// Creates the folder and its parents.
  void make(const std::string& path) const;

 private:
  std::string root_;
  Descriptor folder_;
};

/// Checks a name for a file or folder: letters, digits, '_', '-', '.', no leading '.', at most 64 characters. Throws
/// RequestError(kInvalid).
const std::string& checked_name(const std::string& name);

}  // namespace cortado::studio
