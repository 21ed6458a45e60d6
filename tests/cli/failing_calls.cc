// Preloaded by faults.py: calls of the system that fail, or before which the process is gone, from a chosen count on.
//   FAIL=fsync:2:5     the second fsync and all after it fail with errno 5
//   DIE=renameat2:1    the process is gone just before the first
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

/// The number behind "CALL:" in the variable `name`, where that is about `call`, and what stands behind it; else 0.
int chosen(const char* name, const char* call, const char*& rest) {
  const char* text = std::getenv(name);
  const size_t n = std::strlen(call);
  if (text == nullptr || std::strncmp(text, call, n) != 0 || text[n] != ':') return 0;
  char* end = nullptr;
  const long count = std::strtol(text + n + 1, &end, 10);
  rest = *end == ':' ? end + 1 : end;
  return int(count);
}

/// Counts a call; 0, or the errno that it is to fail with.
int fault(const char* call, std::atomic<int>& calls) {
  const char* rest = "";
  const int count = ++calls;
  if (const int fatal = chosen("DIE", call, rest); fatal > 0 && count == fatal) ::_exit(99);
  const int failing = chosen("FAIL", call, rest);
  return failing > 0 && count >= failing ? std::atoi(rest) : 0;
}

template <typename Function, typename... Arguments>
int call(const char* name, std::atomic<int>& calls, Arguments... arguments) {
  if (const int error = fault(name, calls); error != 0) {
    errno = error;
    return -1;
  }
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name))(arguments...);
}

std::atomic<int> fsyncs{0}, renames{0}, exchanges{0}, removals{0}, threads{0};

}  // namespace

extern "C" {

int fsync(int fd) { return call<int(int)>("fsync", fsyncs, fd); }

int rename(const char* from, const char* to) noexcept {
  return call<int(const char*, const char*)>("rename", renames, from, to);
}

int renameat2(int a, const char* from, int b, const char* to, unsigned flags) noexcept {
  return call<int(int, const char*, int, const char*, unsigned)>("renameat2", exchanges, a, from, b, to, flags);
}

int remove(const char* path) noexcept { return call<int(const char*)>("remove", removals, path); }

int pthread_create(pthread_t* thread, const pthread_attr_t* options, void* (*body)(void*), void* argument) noexcept {
  if (const int error = fault("pthread_create", threads); error != 0) return error;
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return reinterpret_cast<Create*>(::dlsym(RTLD_NEXT, "pthread_create"))(thread, options, body, argument);
}
}
