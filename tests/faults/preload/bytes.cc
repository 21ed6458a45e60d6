// Reads and writes. writev() is split into one system call for each buffer, so that it can be short between buffers.
#include <sys/uio.h>

#include <cerrno>
#include <cstdlib>

#include "tests/faults/preload/call.h"

namespace faults {

namespace {

template <typename Call>
long take(const char* name, int fd, size_t size, Call&& call) {
  const Place place(fd);
  const Verdict verdict = inject("read", name, place.path());
  if (verdict.error != 0) return errno = verdict.error, -1;
  const long taken = call(verdict.half && size > 1 ? size / 2 : size);
  if (verdict.die_after) die();
  return taken;
}

/// `at` < 0: at the descriptor's offset.
long put_bytes(int fd, const void* data, size_t size, long at) {
  Recording recording;
  const long done = at < 0 ? ::syscall(SYS_write, fd, data, size) : ::syscall(SYS_pwrite64, fd, data, size, at);
  const int error = errno;
  if (done > 0 && recording.on()) {
    const Place place(fd);
    if (fd == 1 || fd == 2)
      recording.printed(data, size_t(done));
    else if (counts(place.path()))
      recording.bytes(fd, at < 0 ? ::lseek(fd, 0, SEEK_CUR) - done : at, data, size_t(done));
  }
  errno = error;
  return done;
}

long put(const char* name, int fd, const void* data, size_t size, long at) {
  const Place place(fd);
  const Verdict verdict = inject("write", name, place.path());
  if (verdict.error != 0) return errno = verdict.error, -1;
  size_t most = verdict.half && size > 1 ? size / 2 : size;
  if (counts(place.path()) && size > 0) most = within_budget(most);
  if (most == 0 && size > 0) return errno = ENOSPC, -1;
  const long done = put_bytes(fd, data, most, at);
  if (verdict.die_after) die();
  return done;
}

/// Writes a vector: one call for the rules, one system call for each buffer.
long put_vector(const char* name, int fd, const struct iovec* pieces, int count, long at) {
  const Place place(fd);
  const Verdict verdict = inject("write", name, place.path());
  if (verdict.error != 0) return errno = verdict.error, -1;
  long all = 0;
  for (int i = 0; i < (verdict.half && count > 1 ? count / 2 : count); ++i) {
    const size_t size = verdict.half && count == 1 ? pieces[i].iov_len / 2 : pieces[i].iov_len;
    const size_t most = counts(place.path()) ? within_budget(size) : size;
    const long done = most == 0 && size > 0 ? -1 : put_bytes(fd, pieces[i].iov_base, most, at < 0 ? at : at + all);
    if (done < 0 && all == 0) {
      if (most == 0 && size > 0) errno = ENOSPC;
      return -1;
    }
    if (done > 0) all += done;
    if (done < long(pieces[i].iov_len)) break;
  }
  if (verdict.die_after) die();
  return all;
}

void check_room(size_t size, size_t room) {
  if (size > room) std::abort();
}

}  // namespace

}  // namespace faults

using namespace faults;

extern "C" {

ssize_t read(int fd, void* data, size_t size) {
  return take("read", fd, size, [&](size_t most) { return ::syscall(SYS_read, fd, data, most); });
}
ssize_t pread(int fd, void* data, size_t size, long at) {
  return take("pread", fd, size, [&](size_t most) { return ::syscall(SYS_pread64, fd, data, most, at); });
}
ssize_t pread64(int fd, void* data, size_t size, long at) { return pread(fd, data, size, at); }
ssize_t __read_chk(int fd, void* data, size_t size, size_t room) {
  check_room(size, room);
  return read(fd, data, size);
}
ssize_t __pread_chk(int fd, void* data, size_t size, long at, size_t room) {
  check_room(size, room);
  return pread(fd, data, size, at);
}
ssize_t __pread64_chk(int fd, void* data, size_t size, long at, size_t room) {
  return __pread_chk(fd, data, size, at, room);
}
ssize_t write(int fd, const void* data, size_t size) { return put("write", fd, data, size, -1); }
ssize_t pwrite(int fd, const void* data, size_t size, long at) { return put("pwrite", fd, data, size, at); }
ssize_t pwrite64(int fd, const void* data, size_t size, long at) { return put("pwrite", fd, data, size, at); }
ssize_t writev(int fd, const struct iovec* pieces, int count) { return put_vector("writev", fd, pieces, count, -1); }
ssize_t pwritev(int fd, const struct iovec* pieces, int count, long at) {
  return put_vector("pwritev", fd, pieces, count, at);
}
ssize_t pwritev64(int fd, const struct iovec* pieces, int count, long at) {
  return put_vector("pwritev", fd, pieces, count, at);
}
// Copies inside the kernel are refused, as by some file systems: then the caller reads and writes, which is recorded.
ssize_t sendfile(int, int, long*, size_t) noexcept { return errno = ENOSYS, -1; }
ssize_t sendfile64(int, int, long*, size_t) noexcept { return errno = ENOSYS, -1; }
ssize_t copy_file_range(int, long*, int, long*, size_t, unsigned) { return errno = ENOSYS, -1; }
}
