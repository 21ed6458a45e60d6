#pragma once

#include <cstdint>

#include "core/context.h"
#include "core/function_ref.h"

namespace cortado {

/// body(begin, end) over a split of [0, n) into contiguous ranges, on the process's compute threads: our own pool
/// (core/threads/thread_pool.h) or, where the vendor libraries do most of the work and no other process holds us up,
/// theirs. There are more ranges than threads, and whoever is free takes the next one, so that none waits for a thread
/// that the system holds up. Ranges are not smaller than `at_least`, what is worth a thread. The split depends on n,
/// at_least and the number of threads only; which thread gets a range must not matter. Data threads never call this.
/// The body does not throw. Within a body it calls its own at once, in the same thread. No template: a loop in the body
/// is compiled once, not once for each way to split.
void parallel_ranges(Context& context, int64_t n, int64_t at_least, FunctionRef<void(int64_t begin, int64_t end)> body);

/// How many compute threads to use when the user did not say: the CPUs that this process may run on, and no more than
/// its control groups give it the time of (core/cpu/cpu.h).
int default_threads();

/// Makes `threads` the number of OpenMP's threads that the vendor libraries use when the calling thread calls them,
/// or as many as the environment allows: where OpenMP gives fewer than it tells of, oneDNN leaves parts out.
void use_threads(int threads);

/// While there is one, the vendor libraries compute in the calling thread alone.
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
