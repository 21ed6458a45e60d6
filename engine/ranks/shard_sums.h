#pragma once

// Sums of an array over the shards of one rank, as far as the tree (ranks/shard_tree.h) allows before those of the
// other ranks are known.

#include <cstdint>
#include <vector>

#include "core/context.h"
#include "core/device/device_memory.h"
#include "ranks/shard_tree.h"

namespace cortado::ranks {

class ShardSums {
 public:
  /// For arrays of `floats` floats in memory of the context's device. Allocates nothing for a range of one shard.
  ShardSums(Context& context, int64_t floats, const ShardRange& range);

  /// Adds floats [begin, end) of shard `index` of the range. For each part of the array, shards must come in order.
  /// With a range of one shard, `values` must stay valid and is the sum.
  void add(Context& context, int64_t index, float* values, int64_t begin, int64_t end);
  void add(Context& context, int64_t index, float* values) { add(context, index, values, 0, floats_); }

  const std::vector<Block>& blocks() const { return blocks_; }
  /// One array per block, after all shards were added.
  float* block(size_t i) const { return sums_.empty() ? alone_ : memory(i); }
  int64_t floats() const { return floats_; }
  /// For a range of all shards: writes their sum to `to`. The blocks are invalid afterwards.
  void finish(Context& context, float* to);

 private:
  float* memory(size_t i) const { return reinterpret_cast<float*>(sums_[i].data()); }

  int64_t floats_;
  ShardRange range_;
  std::vector<Block> blocks_;
  std::vector<DeviceMemory> sums_;  ///< as many as are incomplete at a time
  float* alone_ = nullptr;
};

/// The sum over all shards, for a rank that has all of them.
const float* sum_of_all(Context& context, const ShardSums& sums);

/// to += from and to = from, for `n` floats, in order with the context's other work.
void add_floats(Context& context, float* to, const float* from, int64_t n);
void copy_floats(Context& context, float* to, const float* from, int64_t n);

}  // namespace cortado::ranks
