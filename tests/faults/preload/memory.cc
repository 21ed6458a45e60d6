// Memory and threads. The C library's own functions have second names, so that none has to be looked up, which would
// allocate.
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "tests/faults/preload/rules.h"

extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) noexcept {
  if (!faults::strike_memory("malloc")) return __libc_malloc(size);
  errno = ENOMEM;
  return nullptr;
}

void* calloc(size_t count, size_t size) noexcept {
  if (!faults::strike_memory("calloc")) return __libc_calloc(count, size);
  errno = ENOMEM;
  return nullptr;
}

void* realloc(void* old, size_t size) noexcept {
  if (!faults::strike_memory("realloc")) return __libc_realloc(old, size);
  errno = ENOMEM;
  return nullptr;
}

void* memalign(size_t alignment, size_t size) noexcept {
  if (!faults::strike_memory("memalign")) return __libc_memalign(alignment, size);
  errno = ENOMEM;
  return nullptr;
}

void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }

int posix_memalign(void** place, size_t alignment, size_t size) noexcept {
  void* const made = memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *place = made;
  return 0;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* options, void* (*body)(void*), void* argument) noexcept {
  if (const int error = faults::strike_thread(); error != 0) return error;
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const real = reinterpret_cast<Create*>(::dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, options, body, argument);
}
}
