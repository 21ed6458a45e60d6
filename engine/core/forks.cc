#include "core/forks.h"

#include <pthread.h>

namespace cortado {

namespace {

uint32_t forks = 0;

[[maybe_unused]] const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });

}  // namespace

uint32_t forks_so_far() { return forks; }

}  // namespace cortado
