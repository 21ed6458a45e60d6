#pragma once

// How ranks share the floats of an array to sum: the array comes in parts, as backward completes them. Of each part
// every rank has a slice, which it sums for all.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cortado::ranks {

/// Floats [begin, end) of an array.
struct FloatRange {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

/// Rank `rank`'s slice of a part. Slices start at multiples of a cache line, counted from the start of the part.
inline FloatRange slice_of(const FloatRange& part, int rank, int ranks) {
  constexpr int64_t kLine = 16;
  const auto cut = [&](int at) {
    return at == ranks ? part.end : part.begin + std::min(part.count(), part.count() * at / ranks / kLine * kLine);
  };
  return {cut(rank), cut(rank + 1)};
}

inline std::vector<FloatRange> slices_of(const std::vector<FloatRange>& parts, int rank, int ranks) {
  std::vector<FloatRange> slices;
  for (const FloatRange& part : parts) slices.push_back(slice_of(part, rank, ranks));
  return slices;
}

}  // namespace cortado::ranks
