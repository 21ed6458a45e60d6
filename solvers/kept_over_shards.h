#pragma once

// What layers keep by themselves, as BatchNorm its statistics, in an iteration of shards: each shard begins as the
// iteration began, and all end as the mean over all shards. The mean is that of the changes, so that what no shard
// changes stays as it is, to the bit.

#include <vector>

#include "core/device/device_memory.h"
#include "net/net.h"
#include "ranks/shard_sums.h"
#include "solvers/rank_share.h"

namespace cortado {

class KeptOverShards {
 public:
  /// Takes memory on the net's device. The net outlives this.
  KeptOverShards(Net& net, const RankShare& share);

  // All work is put into the net's context.

  /// Before and after all passes of the range's `index`-th shard, the first of which begins an iteration.
  void begin_shard(int64_t index);
  void end_shard(int64_t index);

  /// The changes of this process's shards, and where their sum over all shards is wanted.
  ranks::ShardSums& changes() { return sums_; }
  float* sum() { return floats(sum_); }
  ranks::FloatRange all() const { return {0, count_}; }
  /// Once it is there.
  void end_iteration();

 private:
  KeptOverShards(Context& context, const std::vector<float*>& places, const RankShare& share);
  static float* floats(const DeviceMemory& memory) { return reinterpret_cast<float*>(memory.data()); }
  float* const* places() const { return reinterpret_cast<float* const*>(places_.data()); }

  Context& context_;
  const float shards_;
  const int64_t count_;
  DeviceMemory places_;  ///< the address of each float
  DeviceMemory before_, change_, sum_;
  ranks::ShardSums sums_;
};

}  // namespace cortado
