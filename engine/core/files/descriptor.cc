#include "core/files/descriptor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cortado {

Descriptor::Descriptor(const std::string& path, int flags, unsigned mode) {
  do fd_ = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  while (fd_ < 0 && errno == EINTR);
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int64_t read_at(int fd, void* to, size_t bytes, int64_t offset) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(fd, static_cast<char*>(to) + done, bytes - done, off_t(offset) + off_t(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += size_t(got);
  }
  return int64_t(done);
}

bool is_named(int fd, const std::string& path) {
  struct stat open, named;
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

std::string why_not_opened(int error) {
  std::string why = std::strerror(error);
  rlimit most;
  if (error == EMFILE && ::getrlimit(RLIMIT_NOFILE, &most) == 0)
    why += ": the limit is " + std::to_string(most.rlim_cur) + " (`ulimit -n`)";
  return why;
}

std::string kind_of_file(unsigned mode) {
  if (S_ISREG(mode)) return "a file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a link";
  if (S_ISFIFO(mode)) return "a pipe";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

/// Non-regular files are not opened at all, because a pipe's writer would take this process for its reader. O_NONBLOCK
/// covers a pipe that appears between stat and open.
Descriptor open_regular_file(const std::string& path, std::string& why) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    why = std::strerror(errno);
    return {};
  }
  Descriptor file;
  if (S_ISREG(info.st_mode)) {
    file = Descriptor(path, O_RDONLY | O_NONBLOCK);
    if (!file.ok() || ::fstat(file.fd(), &info) != 0) {
      why = why_not_opened(errno);
      return {};
    }
  }
  if (S_ISREG(info.st_mode)) return file;
  why = "this is " + kind_of_file(info.st_mode) + ", not a regular file";
  return {};
}

}  // namespace cortado
