#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>

#include "core/forks.h"

namespace cortado {

class Descriptor;

/// Reads a whole regular file. Throws Error(kIo) with the path and the reason. Files over `most` bytes and non-regular
/// files are errors; a pipe never blocks it.
std::string read_file(const std::string& path, int64_t most = int64_t(1) << 40);

/// The whole content of an open file; `path` is for errors.
std::string read_open_file(const Descriptor& file, const std::string& path, int64_t most);

/// Like read_file, but also reads pipes and devices (/dev/stdin, a shell's <(...)) of up to 1 GiB; waits for the
/// writer.
std::string read_file_or_pipe(const std::string& path, int64_t most = int64_t(1) << 40);

bool file_exists(const std::string& path);

/// Replaces `path` atomically: after a crash at any time it has either its old content or the new one. Writes a
/// temporary file in the same folder (`path.tmp.PID`), then fsync, rename, fsync of the folder. The space is reserved
/// first, so a full disk is detected before the old content changes. Throws Error(kIo) and removes the temporary file.
void write_file_atomically(const std::string& path, std::string_view content);

/// Like write_file_atomically for content in pieces, which need not fit in memory. `bytes` is the space to reserve.
/// Without commit() the path keeps its old content. Pipes and devices are written directly.
class AtomicFile {
 public:
  AtomicFile(const std::string& path, int64_t bytes);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void append(std::string_view piece);
  void commit();  ///< call once, at the end

 private:
  std::string path_, temporary_;  ///< temporary_ is empty if path_ is written directly
  int fd_ = -1;
  MadeHere made_here_;
};

/// A digest: the length, the CRC-32 and the Adler-32, as 32 hexadecimal digits.
std::string digest_of(std::string_view content);

/// The digest of a file, read in pieces. Throws Error(kIo).
std::string digest_of_file(const std::string& path);

/// The digest of data in pieces.
class Digest {
 public:
  void add(std::string_view piece);
  std::string str() const;

 private:
  uint64_t bytes_ = 0;
  unsigned long crc_ = 0, adler_ = 1;
};

/// `path` relative to `folder`, or `path` itself if it is absolute. Neither is normalized.
std::string join_path(const std::string& folder, const std::string& path);
std::string folder_of(const std::string& path);          ///< "" if `path` has no '/'
std::string file_name_of(const std::string& path);       ///< after the last '/'
std::string without_trailing_slashes(std::string path);  ///< for file_name_of() of a folder; "/" stays

/// The name of the temporary file that will replace `path`: `path.tmp.PID`.
std::string temporary_beside(const std::string& path);

/// Replaces `path` by the complete file `temporary` in the same folder: fsync, rename, fsync of the folder. Throws
/// Error(kIo) and removes `temporary`.
void replace_file(const std::string& temporary, const std::string& path);

/// Renames the complete folder `made` to `path`, in the same folder: syncs all files below it first, and makes the name
/// durable. Throws Error(kIo), also if `path` exists and is not an empty folder.
void place_folder(const std::string& made, const std::string& path);

/// Makes created, renamed and removed names in `folder` durable ("": the current folder). Throws Error(kIo). Ignores
/// file systems that cannot sync folders and folders without read permission.
void sync_folder(const std::string& folder);

/// Creates a folder and its missing ancestors, and makes their names durable; otherwise a crash could lose the folder
/// with its synced files. Returns false without `failure` if the folder exists. Throws Error(kIo) like sync_folder().
bool make_folders(const std::string& folder, std::error_code& failure);

}  // namespace cortado
