#include "ranks/shard_sums.h"

#include <algorithm>

namespace cortado::ranks {

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
    if (alone_ != values) alone_ = values;  // a running exchange reads it
    return;
  }
  // A shard that completes nodes is added to the smallest of them, that to the next larger one, and so on.
  size_t open = index == 0 ? 0 : blocks_of({range_.first, index}).size();
  const size_t after = blocks_of({range_.first, index + 1}).size();
  const int64_t n = end - begin;
  if (after > open) {
    copy_floats(context, memory(open) + begin, values + begin, n);
    return;
  }
  add_floats(context, memory(open - 1) + begin, values + begin, n);
  for (; open > after; --open) add_floats(context, memory(open - 2) + begin, memory(open - 1) + begin, n);
}

void ShardSums::finish(Context& context, float* to) {
  const float* const sum = sum_of_all(context, *this);
  if (sum != to) copy_floats(context, to, sum, floats_);
}

const float* sum_of_all(Context& context, const ShardSums& sums) {
  fold(sums.blocks(),
       [&](size_t into, size_t from) { add_floats(context, sums.block(into), sums.block(from), sums.floats()); });
  return sums.block(0);
}

}  // namespace cortado::ranks
