#include "tools/runs/run_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.h"
#include "core/files/file.h"

namespace cortado::runs {

namespace {

[[noreturn]] void refuse(const std::string& path, mode_t mode) {
  throw file_error(ExitCode::kIo, path, "this is " + kind_of_file(mode) + ", not a regular file",
                   "a run's folder has only files of its own: remove it");
}

[[noreturn]] void fail(const std::string& path, int flags, int error) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  throw file_error(ExitCode::kIo, path, (writes ? "cannot write: " : "cannot read: ") + why_not_opened(error));
}

}  // namespace

bool has_run_file(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

void check_run_file(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) refuse(path, info.st_mode);
}

Descriptor open_run_file(const std::string& path, int flags) {
  check_run_file(path);  // before open(), which may have effects on devices and pipes
  Descriptor file(path, flags | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (!file.ok()) fail(path, flags, errno);
  struct stat info;
  if (::fstat(file.fd(), &info) != 0) fail(path, flags, errno);
  if (!S_ISREG(info.st_mode)) refuse(path, info.st_mode);
  return file;
}

std::string read_run_file(const std::string& path, int64_t most) {
  return read_open_file(open_run_file(path, O_RDONLY), path, most);
}

std::string read_run_file_if_any(const std::string& path) {
  check_run_file(path);
  return file_exists(path) ? read_run_file(path) : "";
}

void write_run_file(const std::string& path, std::string_view content) {
  check_run_file(path);
  write_file_atomically(path, content);
}

int append_line(int file, std::string_view line) {
  const off_t begin = ::lseek(file, 0, SEEK_END);
  while (!line.empty()) {
    const ssize_t written = ::write(file, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      [[maybe_unused]] const int cut = begin < 0 ? 0 : ::ftruncate(file, begin);  // a device cannot be truncated
      return error;
    }
    line.remove_prefix(size_t(written));
  }
  return 0;
}

}  // namespace cortado::runs
