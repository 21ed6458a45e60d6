#include "core/threads/threads.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "core/cpu/cpu.h"
#include "core/cpu/isa_level.h"
#include "core/process/sanitized.h"
#include "core/threads/cpu_contention.h"
#include "core/threads/thread_pool.h"
#include "core/threads/work_stealing.h"

namespace cortado {

namespace {

/// Bounds the wait for a preempted thread to a quarter of its share.
constexpr int64_t kRangesPerThread = 4;

/// One per thread, for its current parallel loop; reused so that loops do not allocate.
WorkStealingRange& pieces_of_caller() {
  static thread_local WorkStealingRange pieces(1);
  return pieces;
}

/// With AVX-512 oneDNN does most of the arithmetic on OpenMP's threads, and two pools would compete for the same CPUs.
/// But OpenMP waits for preempted threads, and ThreadSanitizer does not understand its synchronization.
bool uses_openmp(LoopThreads wanted, int threads) {
  if (wanted != LoopThreads::kAsSuits) return wanted == LoopThreads::kOpenMp;
  if (kThreadSanitized || kCompiledIsa < IsaLevel::kV4) return false;
  static thread_local CpuContention caller;
  ThreadPool::shared().reserve(threads);  // so that a later change of pools allocates nothing
  return !caller.now();
}

/// Runs work(worker) in up to `threads` threads, always including worker 0.
void by_threads(LoopThreads wanted, int threads, FunctionRef<void(int worker)> work) {
  if (!uses_openmp(wanted, threads)) return ThreadPool::shared().run(threads, work);
#pragma omp parallel num_threads(threads)
  work(omp_get_thread_num());
}

}  // namespace

void parallel_ranges(Context& context, int64_t n, int64_t at_least, FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t most = at_least > 0 ? n / at_least : n;
  const int64_t threads = std::min<int64_t>(context.threads, most);
  if (threads <= 1 || ThreadPool::is_inside() || omp_in_parallel()) {
    if (n > 0) body(0, n);
    return;
  }
  ++context.joins;
  const int64_t ranges = std::min(most, threads * kRangesPerThread);
  WorkStealingRange& pieces = pieces_of_caller();
  pieces.reserve(threads);
  pieces.deal(ranges);
  by_threads(context.loops, int(threads), [&](int worker) {
    for (int64_t k; (k = pieces.next(worker)) >= 0;) body(n * k / ranges, n * (k + 1) / ranges);
  });
}

int default_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const double quota = std::ceil(std::min(cpu_quota(), double(CPU_SETSIZE)));
  return std::max(1, std::min(CPU_COUNT(&set), int(quota)));
}

void use_threads(int threads) {
  omp_set_dynamic(0);                                              // OMP_DYNAMIC
  omp_set_num_threads(std::min(threads, omp_get_thread_limit()));  // OMP_THREAD_LIMIT
}

int library_threads() { return omp_get_max_threads(); }

double seconds_of_join(Context& context) {
  constexpr size_t kLoops = 1001;
  std::vector<double> seconds(kLoops);
  for (double& loop : seconds) {
    const auto start = std::chrono::steady_clock::now();
    parallel_ranges(context, context.threads, 1, [](int64_t, int64_t) {});
    loop = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::ranges::nth_element(seconds, seconds.begin() + kLoops / 2);
  return seconds[kLoops / 2];
}

LibrariesAlone::LibrariesAlone() : threads_(omp_get_max_threads()) { omp_set_num_threads(1); }
LibrariesAlone::~LibrariesAlone() { omp_set_num_threads(threads_); }

}  // namespace cortado
