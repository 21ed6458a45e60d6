#pragma once

#include "core/threads/threads.h"

namespace cortado::kernels {

/// body(begin, end): by the threads of `context`, or all at once by the caller, who is one of them, where it is null.
template <typename Body>
void over(Context* context, int64_t n, const Body& body) {
  if (context)
    parallel_ranges(*context, n, 1, body);
  else
    body(int64_t(0), n);
}

/// body(context, thread_group, begin, end) for [0, n) in equal shares: one thread_group of all threads, for which
/// body() calls over(), or `thread_groups` of one thread each, which get no context.
template <typename Body>
void in_thread_groups(Context& context, int64_t thread_groups, int64_t n, const Body& body) {
  if (thread_groups == 1) return body(&context, size_t(0), int64_t(0), n);
  parallel_ranges(context, thread_groups, 1, [&](int64_t first, int64_t last) {
    for (int64_t thread_group = first; thread_group < last; ++thread_group)
      body(static_cast<Context*>(nullptr), size_t(thread_group), n * thread_group / thread_groups,
           n * (thread_group + 1) / thread_groups);
  });
}

}  // namespace cortado::kernels
