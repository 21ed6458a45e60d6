#pragma once

#include <cstdint>

#include "core/context.h"
#include "core/function_ref.h"
#include "core/threads/thread_pool.h"

namespace cortado {

/// Runs work(piece, worker) for each piece in [0, pieces) on the threads of `context` (ThreadPool::run()). Workers may
/// have memory of their own. Data threads never call this.
void in_pieces(Context& context, int64_t pieces, ThreadPool::Work work);

/// Runs body(begin, end) on contiguous ranges of [0, n), in pieces. Ranges have at least `at_least` elements, enough to
/// justify a piece. The split depends only on n, at_least and context.pieces, so that results, too, do not depend on
/// the number of threads. The body must not throw. A nested call has one range. Not a template, so that loops in the
/// body are compiled once.
void parallel_ranges(Context& context, int64_t n, int64_t at_least, FunctionRef<void(int64_t begin, int64_t end)> body);

/// The default number of compute threads: the CPUs in the process's affinity mask, limited by its control groups' quota
/// (core/cpu/cpu.h).
int default_threads();

/// The seconds of a loop over nothing, the median of many: the cost of a join.
double seconds_of_join(Context& context);

}  // namespace cortado
