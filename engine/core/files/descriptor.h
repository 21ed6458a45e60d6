#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace cortado {

/// An open file, or none, that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  /// Opens `path`; close-on-exec is added to `flags`. errno says why where ok() is false.
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

/// Reads `bytes` from `offset` on, over interruptions. Returns how many there were before the file's end; -1 on an
/// error, with errno.
int64_t read_at(int fd, void* to, size_t bytes, int64_t offset);

/// Whether `path` names that open file still: it may have been removed, or replaced by another, meanwhile.
bool is_named(int fd, const std::string& path);

/// The system's words for `error`; of too many open files also how many there may be.
std::string why_not_opened(int error);

/// Opens a regular file for reading and never waits for anything: a pipe, whose writer may never come, is refused, and
/// so is all else that is no regular file. Where the result is not ok(), `why` says it in words.
Descriptor open_regular_file(const std::string& path, std::string& why);

}  // namespace cortado
