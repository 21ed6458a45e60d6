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

/// Runs body(context, thread_group, begin, end) on equal shares of [0, n). One thread_group has all threads, and its
/// body() calls over(). Otherwise there are `thread_groups` of one thread each, and context is null.
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
