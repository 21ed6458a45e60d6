#include "core/forks.h"

#include <omp.h>
#include <pthread.h>

namespace cortado {

namespace {

uint32_t forks = 0;

// OpenMP would wait for the threads of the parent's team in the child. Without a team both start new ones.
[[maybe_unused]] const int registered =
    ::pthread_atfork([] { ::omp_pause_resource_all(omp_pause_soft); }, nullptr, [] { ++forks; });

}  // namespace

uint32_t forks_so_far() { return forks; }

}  // namespace cortado
