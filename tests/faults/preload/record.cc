#include "tests/faults/preload/record.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace faults {

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int open_record() {
  const char* path = std::getenv("FAULT_RECORD");
  if (path == nullptr) return -1;
  const int file = int(::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  const int high = int(::syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, 900));
  ::syscall(SYS_close, file);
  return high;
}

int record() {
  static const int file = open_record();
  return file;
}

void put(const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const long n = ::syscall(SYS_write, record(), at, size);
    if (n <= 0) std::abort();  // an incomplete record would make the test worthless
    at += n;
    size -= size_t(n);
  }
}

unsigned long inode_of(int fd) {
  struct stat info;
  return ::fstat(fd, &info) == 0 ? (unsigned long)info.st_ino : 0;
}

template <typename... Values>
void line(const char* format, Values... values) {
  char text[9000];
  put(text, size_t(std::snprintf(text, sizeof text, format, values...)));
}

}  // namespace

Recording::Recording() : on_(record() >= 0) {
  if (on_) ::pthread_mutex_lock(&mutex);
}

Recording::~Recording() {
  if (on_) ::pthread_mutex_unlock(&mutex);
}

void Recording::names(const char* op, const char* from, const char* to, unsigned flags) {
  line("{\"op\":\"%s\",\"from\":\"%s\",\"to\":\"%s\",\"flags\":%u}\n", op, from, to, flags);
}

void Recording::file(const char* op, int fd, const char* path, long at) {
  line("{\"op\":\"%s\",\"inode\":%lu,\"path\":\"%s\",\"at\":%ld}\n", op, inode_of(fd), path, at);
}

void Recording::bytes(int fd, long at, const void* data, size_t size) {
  line("{\"op\":\"write\",\"inode\":%lu,\"at\":%ld,\"bytes\":%zu}\n", inode_of(fd), at, size);
  put(data, size);
}

void Recording::printed(const void* data, size_t size) {
  line("{\"op\":\"say\",\"bytes\":%zu}\n", size);
  put(data, size);
}

}  // namespace faults
