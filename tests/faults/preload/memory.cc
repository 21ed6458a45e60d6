// Allocations and threads. Calls the C library by its __libc_ names: a lookup by dlsym() would allocate. Allocations by
// oneDNN 2 never fail: it does not check them, and would write to null.
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "tests/faults/preload/rules.h"

namespace {

bool is_refused(const char* function, const void* caller) {
  if (!faults::inject_memory_fault(function)) return false;
  Dl_info from{};
  const bool unchecked =
      ::dladdr(caller, &from) != 0 && from.dli_fname != nullptr && std::strstr(from.dli_fname, "libdnnl") != nullptr;
  if (!unchecked) errno = ENOMEM;
  return !unchecked;
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) noexcept {
  return is_refused("malloc", __builtin_return_address(0)) ? nullptr : __libc_malloc(size);
}

void* calloc(size_t count, size_t size) noexcept {
  return is_refused("calloc", __builtin_return_address(0)) ? nullptr : __libc_calloc(count, size);
}

void* realloc(void* old, size_t size) noexcept {
  return is_refused("realloc", __builtin_return_address(0)) ? nullptr : __libc_realloc(old, size);
}

void* memalign(size_t alignment, size_t size) noexcept {
  return is_refused("memalign", __builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return is_refused("memalign", __builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}

int posix_memalign(void** place, size_t alignment, size_t size) noexcept {
  if (is_refused("memalign", __builtin_return_address(0))) return ENOMEM;
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
