#include "core/threads.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>

namespace cortado {

void parallel_ranges(Context& context, int64_t n, int64_t at_least, FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t most = at_least > 0 ? n / at_least : n;
  const int parts = int(std::max<int64_t>(1, std::min<int64_t>(context.threads, most)));
  if (parts == 1) {
    if (n > 0) body(0, n);
    return;
  }
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) body(n * part / parts, n * (part + 1) / parts);
}

int default_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

void use_threads(int threads) { omp_set_num_threads(threads); }

}  // namespace cortado
