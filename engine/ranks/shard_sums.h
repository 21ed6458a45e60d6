#pragma once

// Sums of an array over the shards of one rank, as far as the tree (ranks/shard_tree.h) lets them be added before the
// other ranks' are known.

#include <cstdint>
#include <vector>

#include "core/context.h"
#include "core/device/device_memory.h"
#include "ranks/shard_tree.h"

namespace cortado::ranks {

class ShardSums {
 public:
  /// Of arrays of so many floats in the memory of the context's device. Takes none of its own for a range of one shard.
  ShardSums(Context& context, int64_t floats, const ShardRange& range);

  /// Adds floats [begin, end) of the range's `index`-th shard. For each part of the array, shards come in their order.
  /// Of a range of one shard `values` stays where it is and is the sum.
  void add(Context& context, int64_t index, float* values, int64_t begin, int64_t end);
  void add(Context& context, int64_t index, float* values) { add(context, index, values, 0, floats_); }

  const std::vector<Block>& blocks() const { return blocks_; }
  /// Once all shards were added: one array per block.
  float* block(size_t i) const { return sums_.empty() ? alone_ : memory(i); }
  int64_t floats() const { return floats_; }
  /// Where the range has all shards: their sum, in `to`. The blocks are used up.
  void finish(Context& context, float* to);

 private:
  float* memory(size_t i) const { return reinterpret_cast<float*>(sums_[i].data()); }

  int64_t floats_;
  ShardRange range_;
  std::vector<Block> blocks_;
  std::vector<DeviceMemory> sums_;  ///< as many as are open at a time
  float* alone_ = nullptr;
};

/// The sum over all shards of sums that one rank has of all of them.
const float* sum_of_all(Context& context, const ShardSums& sums);

/// to += from and to = from, both of `n` floats, in order with the context's other work.
void add_floats(Context& context, float* to, const float* from, int64_t n);
void copy_floats(Context& context, float* to, const float* from, int64_t n);

}  // namespace cortado::ranks
