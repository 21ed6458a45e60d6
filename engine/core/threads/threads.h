#pragma once

#include <cstdint>

#include "core/context.h"
#include "core/function_ref.h"

namespace cortado {

/// Runs body(begin, end) on contiguous ranges of [0, n), on the compute threads: the own pool
/// (core/threads/thread_pool.h), or OpenMP's if the vendor libraries do most of the work and no other process competes
/// for CPUs. There are more ranges than threads, and free threads take the next one, so that a preempted thread delays
/// little. Ranges have at least `at_least` elements, enough to justify a thread. The split depends only on n, at_least
/// and the number of threads; results must not depend on which thread runs a range. Data threads never call this. The
/// body must not throw. A nested call runs in the same thread. Not a template, so that loops in the body are compiled
/// once.
void parallel_ranges(Context& context, int64_t n, int64_t at_least, FunctionRef<void(int64_t begin, int64_t end)> body);

/// The default number of compute threads: the CPUs in the process's affinity mask, limited by its control groups' quota
/// (core/cpu/cpu.h).
int default_threads();

/// Sets the number of OpenMP threads that vendor libraries use in the calling thread, limited by the environment. If
/// OpenMP starts fewer threads than it reports, oneDNN skips parts of the work.
void use_threads(int threads);

/// The number of threads that they use in the calling thread.
int library_threads();

/// The seconds of a parallel loop over nothing, the median of many: the cost of a join.
double seconds_of_join(Context& context);

/// During its lifetime the vendor libraries run single-threaded in the calling thread.
class LibrariesAlone {
 public:
  LibrariesAlone();
  ~LibrariesAlone();
  LibrariesAlone(const LibrariesAlone&) = delete;
  LibrariesAlone& operator=(const LibrariesAlone&) = delete;

 private:
  int threads_;
};

}  // namespace cortado
