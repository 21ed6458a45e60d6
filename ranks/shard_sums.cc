#include "ranks/shard_sums.h"

#include <algorithm>

#include "core/threads.h"

namespace cortado::ranks {

namespace {

constexpr int64_t kWorthAThread = 1 << 15;  // floats

}  // namespace

void add_floats(Context& context, float* to, const float* from, int64_t n) {
  parallel_ranges(context, n, kWorthAThread, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] += from[i];
  });
}

ShardSums::ShardSums(Context& context, int64_t floats, const ShardRange& range)
    : floats_(floats), range_(range), blocks_(blocks_of(range)) {
  if (range.count == 1) return;
  size_t most = 0;
  for (int64_t shards = 1; shards < range.count; ++shards)
    most = std::max(most, blocks_of({range.first, shards}).size());
  most = std::max(most, blocks_.size());
  for (size_t i = 0; i < most; ++i) sums_.emplace_back(context, size_t(floats) * sizeof(float));
}

void ShardSums::add(Context& context, int64_t index, float* values, int64_t begin, int64_t end) {
  if (sums_.empty()) {
    alone_ = values;
    return;
  }
  // A shard that completes nodes is added to the smallest of them, that to the next larger one, and so on.
  size_t open = index == 0 ? 0 : blocks_of({range_.first, index}).size();
  const size_t after = blocks_of({range_.first, index + 1}).size();
  const int64_t n = end - begin;
  if (after > open) {
    parallel_ranges(context, n, kWorthAThread, [&](int64_t from, int64_t to) {
      std::copy(values + begin + from, values + begin + to, memory(open) + begin + from);
    });
    return;
  }
  add_floats(context, memory(open - 1) + begin, values + begin, n);
  for (; open > after; --open) add_floats(context, memory(open - 2) + begin, memory(open - 1) + begin, n);
}

}  // namespace cortado::ranks
