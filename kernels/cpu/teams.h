#pragma once

#include "core/threads.h"

namespace cortado::kernels {

/// body(begin, end): by the threads of `context`, or all at once by the caller, who is one of them, where it is null.
template <typename Body>
void over(Context* context, int64_t n, const Body& body) {
  if (context)
    parallel_ranges(*context, n, 1, body);
  else
    body(int64_t(0), n);
}

}  // namespace cortado::kernels
