// Opens, closes, syncs and resizes files.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <cstdarg>
#include <cstdio>

#include "tests/faults/preload/call.h"

namespace faults {

namespace {

bool exists(const char* path) { return ::syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0; }

int open_at(const char* name, int folder, const char* path, int flags, unsigned mode) {
  const Place place(folder, path);
  bool made = false;
  const auto call = [&] {
    made = (flags & O_CREAT) != 0 && counts(place.path()) && !exists(place.path());
    return ::syscall(SYS_openat, folder, path, flags, mode);
  };
  return int(call_and_record("open", name, place.path(), call, [&](Recording& to, long fd) {
    if (made) to.file("create", int(fd), place.path());
    if (!made && (flags & O_TRUNC) != 0) to.file("truncate", int(fd), place.path(), 0);
  }));
}

int sync_file(const char* name, long number, int fd, const char* recorded = "sync") {
  const Place place(fd);
  return int(call_and_record(
      "sync", name, place.path(), [&] { return ::syscall(number, fd); },
      [&](Recording& to, long) { to.file(recorded, fd, place.path()); }));
}

int cut(const char* name, int fd, long size) {
  const Place place(fd);
  return int(call_and_record(
      "truncate", name, place.path(), [&] { return ::syscall(SYS_ftruncate, fd, size); },
      [&](Recording& to, long) { to.file("truncate", fd, place.path(), size); }));
}

/// Reserving space does not count against the budget. Returns the error, as posix_fallocate() does.
int reserve(const char* name, int fd, long at, long size) {
  const Place place(fd);
  const auto call = [&]() -> long {
    if (counts(place.path()) && reserving_is_refused()) return errno = EOPNOTSUPP, -1;
    return ::syscall(SYS_fallocate, fd, 0, at, size);
  };
  const long status = call_and_record("truncate", name, place.path(), call,
                                      [&](Recording& to, long) { to.file("extend", fd, place.path(), at + size); });
  return status < 0 ? errno : 0;
}

FILE* open_stream(const char* name, const char* path, const char* mode) {
  const Place place(AT_FDCWD, path);
  using Open = FILE*(const char*, const char*);
  static auto* const real = reinterpret_cast<Open*>(::dlsym(RTLD_NEXT, "fopen64"));
  FILE* stream = nullptr;
  const bool made = mode[0] != 'r' && counts(place.path()) && !exists(place.path());
  const auto call = [&]() -> long { return (stream = real(path, mode)) != nullptr ? 0 : -1; };
  call_and_record("open", name, place.path(), call, [&](Recording& to, long) {
    if (made) to.file("create", ::fileno(stream), place.path());
    if (!made && mode[0] == 'w') to.file("truncate", ::fileno(stream), place.path(), 0);
  });
  return stream;
}

void* map(const char* name, void* at, size_t size, int protection, int flags, int fd, long offset) {
  const auto call = [&] { return ::syscall(SYS_mmap, at, size, protection, flags, fd, offset); };
  if (fd < 0) {
    if (!inject_memory_fault(name)) return reinterpret_cast<void*>(call());
    errno = ENOMEM;
    return MAP_FAILED;
  }
  const Place place(fd);
  return reinterpret_cast<void*>(call_with_faults("mmap", name, place.path(), call));
}

unsigned mode_in(va_list list, int flags) { return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, unsigned) : 0; }

}  // namespace

}  // namespace faults

using namespace faults;

// NOLINTBEGIN: names and signatures of the C library
#define OPEN(name)                                      \
  int name(const char* path, int flags, ...) {          \
    va_list list;                                       \
    va_start(list, flags);                              \
    const unsigned mode = mode_in(list, flags);         \
    va_end(list);                                       \
    return open_at(#name, AT_FDCWD, path, flags, mode); \
  }
#define OPENAT(name)                                       \
  int name(int folder, const char* path, int flags, ...) { \
    va_list list;                                          \
    va_start(list, flags);                                 \
    const unsigned mode = mode_in(list, flags);            \
    va_end(list);                                          \
    return open_at(#name, folder, path, flags, mode);      \
  }

extern "C" {

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
int __open_2(const char* path, int flags) { return open_at("open", AT_FDCWD, path, flags, 0); }
int __open64_2(const char* path, int flags) { return open_at("open", AT_FDCWD, path, flags, 0); }
int __openat_2(int folder, const char* path, int flags) { return open_at("openat", folder, path, flags, 0); }
int __openat64_2(int folder, const char* path, int flags) { return open_at("openat", folder, path, flags, 0); }
int creat(const char* path, unsigned mode) {
  return open_at("creat", AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
int creat64(const char* path, unsigned mode) { return creat(path, mode); }
FILE* fopen(const char* path, const char* mode) { return open_stream("fopen", path, mode); }
FILE* fopen64(const char* path, const char* mode) { return open_stream("fopen", path, mode); }

DIR* opendir(const char* path) {
  const Place place(AT_FDCWD, path);
  static auto* const real = reinterpret_cast<DIR* (*)(const char*)>(::dlsym(RTLD_NEXT, "opendir"));
  DIR* folder = nullptr;
  call_with_faults("open", "opendir", place.path(),
                   [&]() -> long { return (folder = real(path)) != nullptr ? 0 : -1; });
  return folder;
}

/// Closes the descriptor even if the rule makes the call fail, as Linux does.
int close(int fd) {
  const Place place(fd);
  const Verdict verdict = inject("close", "close", place.path());
  const long status = ::syscall(SYS_close, fd);
  if (verdict.die_after) die();
  if (verdict.error == 0) return int(status);
  errno = verdict.error;
  return -1;
}

int fclose(FILE* stream) {
  const Place place(::fileno(stream));
  const Verdict verdict = inject("close", "fclose", place.path());
  static auto* const real = reinterpret_cast<int (*)(FILE*)>(::dlsym(RTLD_NEXT, "fclose"));
  const int status = real(stream);
  if (verdict.die_after) die();
  if (verdict.error == 0) return status;
  errno = verdict.error;
  return EOF;
}

int fsync(int fd) { return sync_file("fsync", SYS_fsync, fd); }
int syncfs(int fd) noexcept { return sync_file("syncfs", SYS_syncfs, fd, "syncfs"); }
int fdatasync(int fd) { return sync_file("fdatasync", SYS_fdatasync, fd); }
int ftruncate(int fd, long size) noexcept { return cut("ftruncate", fd, size); }
int ftruncate64(int fd, long size) noexcept { return cut("ftruncate", fd, size); }
int posix_fallocate(int fd, long at, long size) { return reserve("posix_fallocate", fd, at, size); }
int posix_fallocate64(int fd, long at, long size) { return reserve("posix_fallocate", fd, at, size); }

void* mmap(void* at, size_t size, int protection, int flags, int fd, long offset) noexcept {
  return map("mmap", at, size, protection, flags, fd, offset);
}
void* mmap64(void* at, size_t size, int protection, int flags, int fd, long offset) noexcept {
  return map("mmap", at, size, protection, flags, fd, offset);
}
}
// NOLINTEND
