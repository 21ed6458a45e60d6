#include "core/threads.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cmath>

#include "core/cpu_quota.h"
#include "core/work_stealing.h"

namespace cortado {

namespace {

/// So all others wait for a thread that is held up at most until it has done a quarter of its share.
constexpr int64_t kRangesPerThread = 4;

/// Of the calling thread, for its one parallel loop at a time: loops allocate nothing.
WorkStealingRange& pieces_of_caller() {
  static thread_local WorkStealingRange pieces(1);
  return pieces;
}

}  // namespace

void parallel_ranges(Context& context, int64_t n, int64_t at_least, FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t most = at_least > 0 ? n / at_least : n;
  const int64_t threads = std::min<int64_t>(context.threads, most);
  if (threads <= 1 || omp_in_parallel()) {
    if (n > 0) body(0, n);
    return;
  }
  const int64_t ranges = std::min(most, threads * kRangesPerThread);
  WorkStealingRange& pieces = pieces_of_caller();
  pieces.reserve(threads);
  pieces.deal(ranges);
#pragma omp parallel num_threads(int(threads))
  for (int64_t k; (k = pieces.next(omp_get_thread_num())) >= 0;) body(n * k / ranges, n * (k + 1) / ranges);
}

int default_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const double quota = std::ceil(std::min(cpu_quota(), double(CPU_SETSIZE)));
  return std::max(1, std::min(CPU_COUNT(&set), int(quota)));
}

void use_threads(int threads) { omp_set_num_threads(threads); }

}  // namespace cortado
