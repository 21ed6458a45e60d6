#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace cortado {

/// An owned file descriptor; -1 if none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  /// Opens `path`; close-on-exec is added to `flags`. On failure ok() is false and errno is set.
  Descriptor(const std::string& path, int flags, unsigned mode = 0);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int fd() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// Reads `bytes` at `offset`, retrying on EINTR. Returns the number of bytes read, fewer at the end of the file; -1
/// with errno on error.
int64_t read_at(int fd, void* to, size_t bytes, int64_t offset);

/// Whether `path` still refers to the open file; it may have been removed or replaced.
bool is_named(int fd, const std::string& path);

/// strerror(), and for too many open files also the limit.
std::string why_not_opened(int error);

/// "a folder", "a link", "a pipe" and so on, for the mode of stat().
std::string kind_of_file(unsigned mode);

/// Opens a regular file for reading and never blocks: pipes, which may never get a writer, and all other non-regular
/// files are rejected. On failure the result is not ok() and `why` has the reason.
Descriptor open_regular_file(const std::string& path, std::string& why);

}  // namespace cortado
