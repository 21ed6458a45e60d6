#include "core/threads/threads.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "core/cpu/cpu.h"

namespace cortado {

void in_pieces(Context& context, int64_t pieces, ThreadPool::Work work) {
  if (context.threads > 1 && pieces > 1 && !ThreadPool::is_inside()) ++context.joins;
  ThreadPool::shared().run(context.threads, pieces, work);
}

void parallel_ranges(Context& context, int64_t n, int64_t at_least, FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t ranges = std::min<int64_t>(context.pieces, at_least > 0 ? n / at_least : n);
  if (ranges <= 1 || ThreadPool::is_inside()) {
    if (n > 0) body(0, n);
    return;
  }
  in_pieces(context, ranges, [&](int64_t k, int) { body(n * k / ranges, n * (k + 1) / ranges); });
}

int default_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const double quota = std::ceil(std::min(cpu_quota(), double(CPU_SETSIZE)));
  return std::max(1, std::min(CPU_COUNT(&set), int(quota)));
}

double seconds_of_join(Context& context) {
  constexpr size_t kLoops = 1001;
  std::vector<double> seconds(kLoops);
  for (double& loop : seconds) {
    const auto start = std::chrono::steady_clock::now();
    in_pieces(context, context.threads, [](int64_t, int) {});
    loop = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::ranges::nth_element(seconds, seconds.begin() + kLoops / 2);
  return seconds[kLoops / 2];
}

}  // namespace cortado
