#include "tests/faults/preload/places.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace faults {

namespace {

void read_link(const char* link, char* text, size_t room) {
  const long n = ::syscall(SYS_readlinkat, AT_FDCWD, link, text, room - 1);
  text[n < 0 ? 0 : n] = '\0';
}

void path_of(int fd, char* text, size_t room) {
  char link[32];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  read_link(link, text, room);
}

}  // namespace

Place::Place(int fd) {
  path_of(fd, text_, sizeof text_);
  constexpr const char* kGone = " (deleted)";
  if (char* end = std::strstr(text_, kGone); end != nullptr && end[std::strlen(kGone)] == '\0') *end = '\0';
}

Place::Place(int folder, const char* path) {
  text_[0] = '\0';
  if (path == nullptr) return;
  if (path[0] != '/') {
    if (folder == AT_FDCWD)
      read_link("/proc/self/cwd", text_, sizeof text_);
    else
      path_of(folder, text_, sizeof text_);
  }
  const size_t n = std::strlen(text_);
  while (path[0] == '.' && path[1] == '/') path += 2;
  if (std::strcmp(path, ".") == 0) return;
  std::snprintf(text_ + n, sizeof text_ - n, "%s%s", path[0] == '/' ? "" : "/", path);
}

}  // namespace faults
