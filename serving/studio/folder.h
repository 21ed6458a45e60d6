#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
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
  /// The reverse: the path that requests use for an absolute path below the folder.
  std::string name_of(const std::string& whole) const;
  /// The same for an existing file, for flags that take lists. Refuses commas, which separate list elements.
  std::string file_at(const std::string& path) const;
  /// False also for what cannot be opened: links, and whatever is in unreadable folders.
  bool has(const std::string& path) const;
  bool has_file(const std::string& path) const;  ///< a regular file
  /// The content of a regular file. Throws kTooLarge above `most` bytes.
  std::string read(const std::string& path, int64_t most) const;
  /// At most `most` bytes, from `offset` on.
  std::string read_part(const std::string& path, int64_t offset, int64_t most) const;
  int64_t size(const std::string& path) const;
  /// Sorted by name, folders first, without hidden entries and links.
  std::vector<Entry> list(const std::string& path) const;
  /// The same; empty if the folder cannot be read.
  std::vector<Entry> list_if_readable(const std::string& path) const;
  /// The names of visible entries that list() leaves out, each with the reason: links, pipes and other odd files.
  std::vector<std::pair<std::string, std::string>> odd_entries(const std::string& path) const;
  /// Counts the visible entries of a folder. Stops at `most`.
  int64_t count(const std::string& path, int64_t most) const;

  // Changes. Nothing is replaced: kConflict if the new name exists.

  /// Creates the folder and its parents.
  void make(const std::string& path) const;
  /// Creates the folder, which must be new, and its parents.
  void make_new(const std::string& path) const;
  /// Writes a new file: under another name, then renamed. The file is locked (flock) until the result is destroyed.
  Descriptor write_new(const std::string& path, std::string_view content) const;
  /// Replaces the content of a file whose digest (core/files/file.h) is `digest`; kConflict if it was changed. Of
  /// several at the same time one succeeds, also of several programs if the file system can exchange two names.
  void replace(const std::string& path, std::string_view content, const std::string& digest) const;
  /// Renames a file or folder.
  void move(const std::string& from, const std::string& to) const;
  /// Deletes a file, or a folder with its content.
  void remove(const std::string& path) const;
  /// Removes hidden files of ended processes that wrote to the folder. Call it before this process writes.
  void remove_left() const;

 private:
  template <typename Put>
  Descriptor put_file(const std::string& path, std::string_view content, const Put& put) const;

  std::string root_;
  Descriptor folder_;
  mutable std::mutex replacing_;
};

/// Checks a name for a file or folder: letters, digits, '_', '-', '.', no leading '.', at most 64 characters. Throws
/// RequestError(kInvalid).
const std::string& checked_name(const std::string& name);

/// The same for files and folders from elsewhere, for example a photo: any UTF-8 without control characters, slashes,
/// backslashes, quotes and commas; no leading '.', '-' or space; at most 200 bytes.
const std::string& checked_file_name(const std::string& name);

}  // namespace cortado::studio
