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

struct CropBox {
  std::vector<int64_t> offsets;  ///< per lifetime, multiples of 64
  int64_t bytes = 0;             ///< of the arena
  int64_t live = 0;              ///< needed at once where most is: no placement takes less
};

/// Greedy by size: the largest first, each at the lowest place that is free during its whole life.
CropBox place_memory(const std::vector<Lifetime>& lifetimes);

}  // namespace cortado::graph
