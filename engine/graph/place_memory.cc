#include "graph/place_memory.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/round_up.h"

namespace cortado::graph {

namespace {

int64_t most_live(const std::vector<Lifetime>& lifetimes, int64_t alignment) {
  std::map<int64_t, int64_t> change;  // by step; a lifetime ends before the next step
  for (const Lifetime& life : lifetimes) {
    change[life.first] += round_up(life.bytes, alignment);
    change[int64_t(life.last) + 1] -= round_up(life.bytes, alignment);
  }
  int64_t live = 0, most = 0;
  for (const auto& [time, bytes] : change) most = std::max(most, live += bytes);
  return most;
}

}  // namespace

Placement place_memory(const std::vector<Lifetime>& lifetimes, int64_t alignment) {
  Placement placement;
  placement.offsets.assign(lifetimes.size(), 0);
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  std::vector<size_t> placed;  // sorted by offset
  for (const size_t k : order) {
    const Lifetime& life = lifetimes[k];
    if (life.bytes == 0) continue;
    const int64_t bytes = round_up(life.bytes, alignment);
    int64_t at = 0;
    for (const size_t other : placed) {
      const Lifetime& o = lifetimes[other];
      if (o.last < life.first || life.last < o.first) continue;
      if (placement.offsets[other] >= at + bytes) break;
      at = std::max(at, placement.offsets[other] + round_up(o.bytes, alignment));
    }
    placement.offsets[k] = at;
    placement.bytes = std::max(placement.bytes, at + bytes);
    const auto after = std::upper_bound(placed.begin(), placed.end(), at, [&](int64_t offset, size_t other) {
      return offset < placement.offsets[other];
    });
    placed.insert(after, k);
  }
  placement.live = most_live(lifetimes, alignment);
  return placement;
}

}  // namespace cortado::graph
