#pragma once

// Memory by lifetime: what is never needed at the same time may lie at the same place.

#include <cstdint>
#include <vector>

namespace cortado::graph {

/// A piece of memory that is needed from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0, last = 0;
};

constexpr int64_t kHostAlignment = 64;     ///< a cache line
constexpr int64_t kDeviceAlignment = 256;  ///< what a GPU's allocator gives, and its libraries want of a workspace

struct Placement {
  std::vector<int64_t> offsets;  ///< per lifetime, multiples of the alignment
  int64_t bytes = 0;             ///< of the arena
  int64_t live = 0;              ///< needed at once where most is: no placement takes less
};

/// Greedy by size: the largest first, each at the lowest place that is free during its whole life.
Placement place_memory(const std::vector<Lifetime>& lifetimes, int64_t alignment = kHostAlignment);

}  // namespace cortado::graph
