#pragma once

#include <algorithm>
#include <cstdint>

#include "core/context.h"

namespace cortado {

/// body(begin, end) over a split of [0, n) into at most context.threads contiguous ranges, on the one pool of compute
/// threads (OpenMP's, which the vendor libraries use too). Ranges smaller than `at_least` are not worth a thread. The
/// split depends on n, at_least and the number of threads only. Data threads never call this. The body does not throw.
template <typename Body>
void parallel_ranges(Context& context, int64_t n, int64_t at_least, const Body& body) {
  const int64_t most = at_least > 0 ? n / at_least : n;
  const int parts = int(std::max<int64_t>(1, std::min<int64_t>(context.threads, most)));
  if (parts == 1) {
    if (n > 0) body(int64_t(0), n);
    return;
  }
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) body(n * part / parts, n * (part + 1) / parts);
}

/// How many compute threads to use when the user did not say: the cores this process may run on.
int default_threads();

/// Makes `threads` the size of the pool that the vendor libraries use in the calling thread.
void use_threads(int threads);

}  // namespace cortado
