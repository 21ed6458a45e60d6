#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>

namespace cortado {

/// The whole of a regular file. Throws Error(kIo) naming the path and the system's reason, also for a file over `most`
/// bytes and for what is no regular file: a pipe is not waited for.
std::string read_file(const std::string& path, int64_t most = int64_t(1) << 40);

/// The same, but a pipe or a device (/dev/stdin, a shell's <(...)) does too, up to 1 GiB; waits for its writer.
std::string read_file_or_pipe(const std::string& path, int64_t most = int64_t(1) << 40);

bool file_exists(const std::string& path);

/// Writes `path` so that after a crash at any moment it holds either its old content or the new one, never a part:
/// a file beside it (`path.tmp.PID`), every return checked, fsync, rename, fsync of the directory. The space is
/// reserved first, so a full disk is noticed before the old content is touched. Throws Error(kIo); the file beside it
/// is removed.
void write_file_atomically(const std::string& path, std::string_view content);

/// The same for content that comes in pieces, so that it need not lie in memory at once. `bytes` is how much to
/// reserve. Without commit() the path keeps its old content. A pipe or a device is written to directly.
class AtomicFile {
 public:
  AtomicFile(const std::string& path, int64_t bytes);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void append(std::string_view piece);
  void commit();  ///< once, last

 private:
  std::string path_, temporary_;  ///< temporary_ is empty where path_ is written directly
  int fd_ = -1;
};

/// The digest of some bytes: their number and their CRC-32 and Adler-32, as 32 hexadecimal digits.
std::string digest_of(std::string_view content);

/// The same of a file's content, read piece by piece. Throws Error(kIo).
std::string digest_of_file(const std::string& path);

/// The same of bytes that come in pieces.
class Digest {
 public:
  void add(std::string_view piece);
  std::string str() const;

 private:
  uint64_t bytes_ = 0;
  unsigned long crc_ = 0, adler_ = 1;
};

/// `path` joined to `folder` unless it is absolute; lexically simplified neither way.
std::string join_path(const std::string& folder, const std::string& path);
std::string folder_of(const std::string& path);          ///< "" for a bare name
std::string file_name_of(const std::string& path);       ///< after the last '/'
std::string without_trailing_slashes(std::string path);  ///< a folder's name, as file_name_of() wants it; "/" stays

/// Where what is to replace `path` is made: `path.tmp.PID`.
std::string temporary_beside(const std::string& path);

/// Makes `temporary`, a whole file beside `path`, take its place as AtomicFile does: fsync, rename, fsync of the
/// folder. Throws Error(kIo); `temporary` is removed then.
void replace_file(const std::string& temporary, const std::string& path);

/// Makes what was made, renamed or removed in `folder` ("": the current one) last. Throws Error(kIo). A file system
/// that cannot sync folders, and a folder that may not be read, are no errors: there is nothing to be done about them.
void sync_folder(const std::string& folder);

/// Makes a folder and those above it that are missing, and makes their names last: what is synced in a folder is lost
/// with the folder. False, without `failure`: it was there. Throws Error(kIo) as sync_folder().
bool make_folders(const std::string& folder, std::error_code& failure);

}  // namespace cortado
