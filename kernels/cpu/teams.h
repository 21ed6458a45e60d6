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

/// body(context, team, begin, end) for [0, n) in equal shares: one team of all threads, for which body() calls over(),
/// or `teams` of one thread each, which get no context.
template <typename Body>
void in_teams(Context& context, int64_t teams, int64_t n, const Body& body) {
  if (teams == 1) return body(&context, size_t(0), int64_t(0), n);
  parallel_ranges(context, teams, 1, [&](int64_t first, int64_t last) {
    for (int64_t team = first; team < last; ++team)
      body(static_cast<Context*>(nullptr), size_t(team), n * team / teams, n * (team + 1) / teams);
  });
}

}  // namespace cortado::kernels
