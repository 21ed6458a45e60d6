#pragma once

// How close a step is to the limits of the machine. A step needs at least the longer of two times: of its operations at
// peak arithmetic, and of moving its operands at peak memory bandwidth (core/threads/machine_peak.h). This bound,
// divided by the measured time, is the share of the roofline. The share can exceed one: operands in a cache move faster
// than in memory, and an algorithm may need fewer multiplications than the definition (Winograd) or faster ones (8-bit
// integers).

#include "graph/plan.h"

namespace cortado::tools {

/// The work of a step. Operations as the layer counts them, with 2 for a multiplication and an addition. Bytes of its
/// operands, each once: forward x, w and y; backward those of x and y that it reads, dy, w, dx and dw.
struct Work {
  double flops = 0, bytes = 0;
  Work& operator+=(const Work& other);
};

Work work_of(const graph::Plan& plan, const graph::Step& step);

/// The machine's peaks with a number of threads.
struct Roofline {
  explicit Roofline(int threads);  ///< measures them in about 0.2 s

  double gflops, gbytes;  ///< per second
  double least_ms(const Work& work) const;
  bool memory_bound(const Work& work) const;  ///< moving operands takes longer than computing
};

}  // namespace cortado::tools
