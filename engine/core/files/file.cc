// Reading of whole files and atomic writing. Caffe truncates the old snapshot before it writes. Here the old one stays
// until the new one is on disk.
#include "core/files/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/error.h"
#include "core/files/descriptor.h"
#include "core/files/made_folders.h"

namespace cortado {

namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, const std::string& why) {
  const std::string folder = folder_of(path);
  if (why == std::strerror(ENOENT) && !folder.empty() && !file_exists(folder))
    throw file_error(ExitCode::kIo, path, "cannot " + what + ": no such folder: " + folder);
  throw file_error(ExitCode::kIo, path, "cannot " + what + ": " + why);
}

[[noreturn]] void fail(const std::string& what, const std::string& path, int error) {
  fail(what, path, why_not_opened(error));
}

void write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), std::min<size_t>(content.size(), size_t(1) << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write", path, errno);
    content.remove_prefix(size_t(n));
  }
}

void sync(int fd, const std::string& path) {
  while (::fsync(fd) != 0)
    if (errno != EINTR) fail("write to the disk", path, errno);
}

bool cut(int fd, off_t end) {
  int status;
  do status = ::ftruncate(fd, end);
  while (status != 0 && errno == EINTR);
  return status == 0;
}

/// Reserves space before writing. If the file system does not support this, the writes report a full disk.
void reserve(int fd, size_t bytes, const std::string& path) {
  if (bytes == 0) return;
  int error;
  do error = ::posix_fallocate(fd, 0, off_t(bytes));
  while (error == EINTR);
  if (error != 0 && error != EOPNOTSUPP && error != EINVAL && error != ENOSYS) fail("reserve space for", path, error);
}

[[noreturn]] void fail_as_too_large(const std::string& path, int64_t most) {
  throw file_error(ExitCode::kIo, path, "larger than " + std::to_string(most) + " bytes");
}

/// `from` has been synced and is in the same folder.
void rename_durably(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail("replace", to, errno);
  sync_folder(folder_of(to));
}

}  // namespace

std::string read_open_file(const Descriptor& file, const std::string& path, int64_t most) {
  struct stat info;
  if (!file.ok() || ::fstat(file.fd(), &info) != 0) fail("read", path, errno);
  if (S_ISDIR(info.st_mode)) fail("read", path, EISDIR);
  const bool regular = S_ISREG(info.st_mode);
  if (!regular) most = std::min(most, int64_t(1) << 30);  // a device may never end
  if (regular && info.st_size > most) fail_as_too_large(path, most);
  std::string content;
  // One extra byte, to detect both the end of the file and a file over the limit.
  content.resize(regular ? size_t(std::clamp<int64_t>(info.st_size, 0, most)) + 1 : 0);
  size_t size = 0;
  for (;;) {
    if (size == content.size()) content.resize(size + (regular ? 1 : 65536));
    const ssize_t n = ::read(file.fd(), content.data() + size, content.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path, errno);
    if (n == 0) break;
    size += size_t(n);
    if (size > size_t(most)) fail_as_too_large(path, most);
  }
  content.resize(size);
  return content;
}

std::string read_file(const std::string& path, int64_t most) {
  std::string why;
  const Descriptor file = open_regular_file(path, why);
  if (!file.ok()) fail("read", path, why);
  return read_open_file(file, path, most);
}

std::string read_file_or_pipe(const std::string& path, int64_t most) {
  return read_open_file(Descriptor(path, O_RDONLY), path, most);
}

bool file_exists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

AtomicFile::AtomicFile(const std::string& path, int64_t bytes) : path_(path) {
  struct stat info;
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) fail("write", path, EISDIR);
  const bool direct = exists && !S_ISREG(info.st_mode);  // pipes and devices are written, never replaced
  if (!direct) {
    remove_leftovers(path);
    temporary_ = temporary_beside(path);
    ::unlink(temporary_.c_str());  // a leftover of an earlier process with this PID
  }
  // O_EXCL: the name is predictable, so another user could put a link there that must not be followed.
  Descriptor file(direct ? path : temporary_, direct ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL,
                  exists ? info.st_mode & 0777 : 0666);
  if (!file.ok()) fail("write", path, errno);
  if (!direct) ::flock(file.fd(), LOCK_EX | LOCK_NB);  // marks it as in use for remove_leftovers()
  try {
    if (!direct) reserve(file.fd(), size_t(bytes), path);
  } catch (...) {
    ::unlink(temporary_.c_str());
    throw;
  }
  fd_ = file.release();
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(std::exchange(fd_, -1));
  if (!temporary_.empty() && made_here_) ::unlink(temporary_.c_str());
}

void AtomicFile::append(std::string_view piece) { write_all(fd_, piece, path_); }

void AtomicFile::commit() {
  if (!temporary_.empty()) {
    const off_t end = ::lseek(fd_, 0, SEEK_CUR);  // releases reserved space that was not used
    if (end < 0 || !cut(fd_, end)) fail("write", path_, errno);
    sync(fd_, path_);
  }
  // close() releases the descriptor even if it fails, so the temporary file is removed here, not in the destructor.
  const bool closed = ::close(std::exchange(fd_, -1)) == 0;
  if (temporary_.empty() && closed) return;
  try {
    if (!closed) fail("write", path_, errno);
    rename_durably(temporary_, path_);
  } catch (...) {
    ::unlink(temporary_.c_str());
    throw;
  }
}

void sync_folder(const std::string& folder) {
  const std::string name = folder.empty() ? "." : folder;
  const Descriptor descriptor(name, O_RDONLY | O_DIRECTORY);
  if (!descriptor.ok() && errno == EACCES) return;
  if (!descriptor.ok()) fail("write to the disk", name, errno);
  int status;
  do status = ::fsync(descriptor.fd());
  while (status != 0 && errno == EINTR);
  if (status != 0 && errno != EINVAL) fail("write to the disk", name, errno);
}

bool make_folders(const std::string& name, std::error_code& failure) {
  const std::string folder = without_trailing_slashes(name);
  failure.clear();
  if (folder.empty() || file_exists(folder)) {
    if (!folder.empty() && !std::filesystem::is_directory(folder))
      failure = std::make_error_code(std::errc::not_a_directory);
    return false;
  }
  make_folders(folder_of(folder), failure);
  if (failure) return false;
  const bool made = std::filesystem::create_directory(folder, failure);
  if (made) sync_folder(folder_of(folder));
  return made;
}

std::string temporary_beside(const std::string& path) { return path + ".tmp." + std::to_string(::getpid()); }

void replace_file(const std::string& temporary, const std::string& path) {
  try {
    const Descriptor file(temporary, O_RDONLY);
    if (!file.ok()) fail("write", path, errno);
    sync(file.fd(), path);
    rename_durably(temporary, path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void place_folder(const std::string& made, const std::string& path) {
  // One sync of the file system instead of one for each file, of which there may be a million.
  const Descriptor folder(made, O_RDONLY | O_DIRECTORY);
  if (!folder.ok() || ::syncfs(folder.fd()) != 0) fail("write", path, errno);
  rename_durably(made, path);
}

void write_file_atomically(const std::string& path, std::string_view content) {
  AtomicFile file(path, int64_t(content.size()));
  file.append(content);
  file.commit();
}

void Digest::add(std::string_view piece) {
  const auto* bytes = reinterpret_cast<const Bytef*>(piece.data());
  crc_ = ::crc32_z(crc_, bytes, piece.size());
  adler_ = ::adler32_z(adler_, bytes, piece.size());
  bytes_ += piece.size();
}

std::string Digest::str() const {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%08lx%08lx", static_cast<unsigned long long>(bytes_), crc_, adler_);
  return text;
}

std::string digest_of(std::string_view content) {
  Digest digest;
  digest.add(content);
  return digest.str();
}

std::string digest_of_file(const std::string& path) {
  std::string why;
  const Descriptor file = open_regular_file(path, why);
  if (!file.ok()) fail("read", path, why);
  std::string part(size_t(1) << 20, '\0');
  Digest digest;
  for (;;) {
    const ssize_t n = ::read(file.fd(), part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path, errno);
    if (n == 0) return digest.str();
    digest.add(std::string_view(part).substr(0, size_t(n)));
  }
}

std::string join_path(const std::string& folder, const std::string& path) {
  if (folder.empty() || (!path.empty() && path.front() == '/')) return path;
  return folder.back() == '/' ? folder + path : folder + "/" + path;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {};
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string file_name_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace cortado
