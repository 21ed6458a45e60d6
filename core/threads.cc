#include "core/threads.h"

#include <omp.h>
#include <sched.h>

namespace cortado {

int default_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

void use_threads(int threads) { omp_set_num_threads(threads); }

}  // namespace cortado
