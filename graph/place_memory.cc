#include "graph/place_memory.h"

#include <algorithm>
#include <numeric>

namespace cortado::graph {

namespace {

constexpr int64_t kAlignment = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Placement place_memory(const std::vector<Lifetime>& lifetimes) {
  Placement placement;
  placement.offsets.assign(lifetimes.size(), 0);
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  std::vector<size_t> placed;  // in order of offset
  for (const size_t k : order) {
    const Lifetime& life = lifetimes[k];
    if (life.bytes == 0) continue;
    const int64_t bytes = aligned(life.bytes);
    int64_t at = 0;
    for (const size_t other : placed) {
      const Lifetime& o = lifetimes[other];
      if (o.last < life.first || life.last < o.first) continue;
      if (placement.offsets[other] >= at + bytes) break;
      at = std::max(at, placement.offsets[other] + aligned(o.bytes));
    }
    placement.offsets[k] = at;
    placement.bytes = std::max(placement.bytes, at + bytes);
    const auto after = std::upper_bound(placed.begin(), placed.end(), at,
                                        [&](int64_t offset, size_t other) { return offset < placement.offsets[other]; });
    placed.insert(after, k);
  }
  return placement;
}

}  // namespace cortado::graph
