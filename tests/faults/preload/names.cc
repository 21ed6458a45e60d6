// Creates, renames and removes files and folders.
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>

#include "tests/faults/preload/call.h"

namespace faults {

namespace {

int move(const char* name, int a, const char* from, int b, const char* to, unsigned flags) {
  const Place old(a, from), made(b, to);
  return int(call_and_record(
      "rename", name, made.path(), [&] { return ::syscall(SYS_renameat2, a, from, b, to, flags); },
      [&](Recording& record, long) { record.names("rename", old.path(), made.path(), flags); }));
}

int remove_name(const char* name, int folder, const char* path, int flags) {
  const Place place(folder, path);
  return int(call_and_record(
      "unlink", name, place.path(), [&] { return ::syscall(SYS_unlinkat, folder, path, flags); },
      [&](Recording& record, long) { record.names("unlink", place.path()); }));
}

int make_folder(const char* name, int folder, const char* path, unsigned mode) {
  const Place place(folder, path);
  return int(call_and_record(
      "mkdir", name, place.path(), [&] { return ::syscall(SYS_mkdirat, folder, path, mode); },
      [&](Recording& record, long) { record.names("mkdir", place.path()); }));
}

int make_link(const char* name, int a, const char* from, int b, const char* to, int flags) {
  const Place old(a, from), made(b, to);
  return int(call_and_record(
      "link", name, made.path(), [&] { return ::syscall(SYS_linkat, a, from, b, to, flags); },
      [&](Recording& record, long) { record.names("link", old.path(), made.path()); }));
}

bool is_folder(const char* path) {
  struct stat info;
  return ::lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

}  // namespace faults

using namespace faults;

extern "C" {

int rename(const char* from, const char* to) noexcept { return move("rename", AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char* from, int b, const char* to) noexcept { return move("renameat", a, from, b, to, 0); }
int renameat2(int a, const char* from, int b, const char* to, unsigned flags) noexcept {
  return move("renameat2", a, from, b, to, flags);
}
int unlink(const char* path) noexcept { return remove_name("unlink", AT_FDCWD, path, 0); }
int unlinkat(int folder, const char* path, int flags) noexcept { return remove_name("unlinkat", folder, path, flags); }
int rmdir(const char* path) noexcept { return remove_name("rmdir", AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) noexcept {
  return remove_name("remove", AT_FDCWD, path, is_folder(path) ? AT_REMOVEDIR : 0);
}
int mkdir(const char* path, mode_t mode) noexcept { return make_folder("mkdir", AT_FDCWD, path, mode); }
int mkdirat(int folder, const char* path, mode_t mode) noexcept { return make_folder("mkdirat", folder, path, mode); }
int link(const char* from, const char* to) noexcept { return make_link("link", AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int a, const char* from, int b, const char* to, int flags) noexcept {
  return make_link("linkat", a, from, b, to, flags);
}
}
