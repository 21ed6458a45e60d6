#pragma once

// How near a step comes to what the machine allows. A step has to do its operations and to move its operands; it takes
// at least the longer of the two times that these would need alone at the machine's peaks (core/cpu/machine_peak.h).
// The share of that bound in the time it took is its distance to the roofline. Two surprises: operands that lie in a
// cache are moved faster than memory allows, and an algorithm may do with fewer multiplications than the definition has
// (Winograd's does), or with faster ones (of 8-bit integers); either gives shares above one.

#include "graph/plan.h"

namespace cortado::tools {

/// What a step does: operations as the layer counts them, a multiplication and an addition being two; and the bytes of
/// its operands, each once: x, w and y forward; backward those of x and y that it reads, dy, w, dx and dw.
struct Work {
  double flops = 0, bytes = 0;
  Work& operator+=(const Work& other);
};

Work work_of(const graph::Plan& plan, const graph::Step& step);

/// The machine's peaks with so many threads.
struct Roofline {
  explicit Roofline(int threads);  ///< measures them, in about 0.2 s

  double gflops, gbytes;  ///< per second
  double least_ms(const Work& work) const;
  bool memory_bound(const Work& work) const;  ///< moving takes longer than computing
};

}  // namespace cortado::tools
