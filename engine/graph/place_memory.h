#pragma once

// Memory planning by lifetime: buffers that are never live at the same time may share memory.

#include <cstdint>
#include <vector>

namespace cortado::graph {

/// A buffer that is live from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0, last = 0;
};

constexpr int64_t kHostAlignment = 64;     ///< a cache line
constexpr int64_t kDeviceAlignment = 256;  ///< that of cudaMalloc, which cuDNN requires of a workspace

struct Placement {
  std::vector<int64_t> offsets;  ///< per lifetime, multiples of the alignment
  int64_t bytes = 0;             ///< total size of the arena
  int64_t live = 0;              ///< maximum of live bytes over all steps: a lower bound for any placement
};

/// Greedy by size: the largest first, each at the lowest offset that is free during its whole lifetime.
Placement place_memory(const std::vector<Lifetime>& lifetimes, int64_t alignment = kHostAlignment);

}  // namespace cortado::graph
