#pragma once

#include "core/threads/threads.h"

namespace cortado::kernels {

/// Runs body(begin, end) on the threads of `context`, or in the calling thread if it is null.
template <typename Body>
void over(Context* context, int64_t n, const Body& body) {
  if (context)
    parallel_ranges(*context, n, 1, body);
  else
    body(int64_t(0), n);
}

}  // namespace cortado::kernels
