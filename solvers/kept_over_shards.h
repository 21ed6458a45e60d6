#pragma once

// State that layers update in forward passes, such as BatchNorm's statistics, in an iteration with several shards. Each
// shard starts from the state at the start of the iteration, and the result is the mean over all shards. The mean is
// taken of the changes, so a value that no shard changes keeps its exact bits.

#include <vector>

#include "core/device/device_memory.h"
#include "net/net.h"
#include "ranks/shard_sums.h"
#include "solvers/rank_share.h"

namespace cortado {

class KeptOverShards {
 public:
  /// Allocates memory on the net's device. The net must outlive this object.
  KeptOverShards(Net& net, const RankShare& share);

  // All work is queued on the net's context.

  /// Called before and after all passes of this rank's shard `index`. Shard 0 begins an iteration.
  void begin_shard(int64_t index);
  void end_shard(int64_t index);

  /// The changes of this process's shards, and the place for their sum over all shards.
  ranks::ShardSums& changes() { return sums_; }
  float* sum() { return floats(sum_); }
  ranks::FloatRange all() const { return {0, count_}; }
  /// Called when the sum is complete.
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
