#pragma once

// Iterations of shards on a device (solvers/shard_training.h has the CPU's): what is done between a shard's passes, and
// the sums over the shards of all ranks, gradients by the same tree as there. All of it is work of the device, which
// the host does not wait for, but where bytes go by way of the hosts. Every rank has all gradients afterwards, and
// makes the whole update.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/net.h"
#include "ranks/device_exchange.h"
#include "solvers/device_update.h"
#include "solvers/kept_over_shards.h"
#include "solvers/rank_share.h"

namespace cortado {

class DeviceShards : private GradientReader {
 public:
  /// References outlive this.
  DeviceShards(Net& net, const RankShare& share, DeviceUpdate& update);

  /// Collective, before the first iteration: opens what moves bytes between the ranks' devices, "nccl" or "host"; "":
  /// whichever is there. Throws Error(kDevice) or Error(kIo).
  void connect(const std::string& engine);

  int64_t count() const { return share_.range.count; }  ///< shards of this process
  /// The number of its `index`-th one among all.
  int64_t number(int64_t index) const { return share_.range.first + index; }

  /// Around all passes of a shard. The last pass's backward() of one that has a reader() tells it of gradients.
  void begin_shard(int64_t index);
  GradientReader* reader(int64_t index);
  void end_shard(int64_t index);

  /// After all shards: gradients become the sums, the loss the mean over all. `requests`: Request flags of this rank,
  /// which become those of all in the state.
  void end_iteration(int requests, int slot);
  /// Waits for the latest end_iteration() of this slot, 0 or 1. Throws Error(kIo) as ranks/device_engine.h says.
  void wait(int slot);

 private:
  void on_complete(size_t param) override;
  void add_gradients(const ranks::FloatRange& part);
  float* words() const { return reinterpret_cast<float*>(words_.data()); }
  float* own_words() const { return words() + word_at_[size_t(share_.rank())] / sizeof(float); }
  void make_words();

  Context& context_;
  const RankShare share_;
  DeviceUpdate& update_;
  std::span<float> gradients_;
  KeptOverShards kept_;
  ranks::ShardSums gradient_sums_;
  CompleteParts completed_;  ///< while the last shard's last pass goes backward
  /// Of each rank its requests, then the losses of its shards; beside it which of them are requests.
  DeviceMemory words_, are_requests_;
  std::vector<size_t> word_at_;  ///< per rank, in bytes; the end
  std::unique_ptr<ranks::DeviceEngine> engine_;
  std::optional<ranks::DeviceExchange> exchange_;  ///< where there are several ranks
  DeviceEvent ended_[2];
};

}  // namespace cortado
