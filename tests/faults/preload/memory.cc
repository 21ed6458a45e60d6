// Allocations and threads. Calls the C library by its __libc_ names: a lookup by dlsym() would allocate.
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>

#include <cerrno>
#include <cstddef>

#include "tests/faults/preload/rules.h"

namespace {

bool is_refused(const char* function) {
  if (!faults::inject_memory_fault(function)) return false;
  errno = ENOMEM;
  return true;
}

/// The first backtrace() loads a library, which allocates.
[[gnu::constructor]] void load_unwinder() {
  void* stack[1];
  static_cast<void>(::backtrace(stack, 1));
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) noexcept { return is_refused("malloc") ? nullptr : __libc_malloc(size); }

void* calloc(size_t count, size_t size) noexcept { return is_refused("calloc") ? nullptr : __libc_calloc(count, size); }

void* realloc(void* old, size_t size) noexcept { return is_refused("realloc") ? nullptr : __libc_realloc(old, size); }

void* memalign(size_t alignment, size_t size) noexcept {
  return is_refused("memalign") ? nullptr : __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return is_refused("memalign") ? nullptr : __libc_memalign(alignment, size);
}

int posix_memalign(void** place, size_t alignment, size_t size) noexcept {
  if (is_refused("memalign")) return ENOMEM;
  void* const made = __libc_memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *place = made;
  return 0;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* options, void* (*body)(void*), void* argument) noexcept {
  if (const int error = faults::inject_thread_fault(); error != 0) return error;
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const real = reinterpret_cast<Create*>(::dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, options, body, argument);
}
}
