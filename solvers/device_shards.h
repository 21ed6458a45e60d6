#pragma once

// Iterations with several shards on a device (solvers/shard_training.h has the CPU's): the work between the passes of
// shards, and the sums over the shards of all ranks. Gradients are summed by the same tree as on the CPU. All work is
// queued on the device, and the host waits only where bytes travel through host memory. Every rank then has all
// gradients and does the whole update.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/net.h"
#include "ranks/device_exchange.h"
#include "solvers/carried_states.h"
#include "solvers/device_update.h"
#include "solvers/kept_over_shards.h"
#include "solvers/rank_share.h"

namespace cortado {

class DeviceShards : private GradientReader {
 public:
  /// The references must outlive this object.
  DeviceShards(Net& net, const RankShare& share, CarriedStates& carried, DeviceUpdate& update);

  /// Collective, before the first iteration: opens the engine that moves bytes between the ranks' devices, "nccl" or
  /// "host"; "" selects the one that is available. Throws Error(kDevice) or Error(kIo).
  void connect(const std::string& engine);

  int64_t count() const { return share_.range.count; }  ///< shards of this process
  /// The global number of this process's shard `index`.
  int64_t number(int64_t index) const { return share_.range.first + index; }

  /// Called before and after all passes of a shard. If reader() is not null, pass it to backward() of the shard's last
  /// pass.
  void begin_shard(int64_t index);
  GradientReader* reader(int64_t index);
  void end_shard(int64_t index);

  /// Called after all shards: sums the gradients and averages the loss over all shards. `requests`: Request flags of
  /// this rank; the state receives those of all ranks.
  void end_iteration(int requests, int slot);
  /// Waits for the latest end_iteration() of this slot, 0 or 1. Throws Error(kIo) as described in
  /// ranks/device_engine.h.
  void wait(int slot);

 private:
  void on_complete(size_t param) override;
  void add_gradients(const ranks::FloatRange& part);
  float* words() const { return reinterpret_cast<float*>(words_.data()); }
  float* own_words() const { return words() + word_at_[size_t(share_.rank())] / sizeof(float); }
  void make_words();

  Context& context_;
  const RankShare share_;
  CarriedStates& carried_;
  DeviceUpdate& update_;
  std::span<float> gradients_;
  KeptOverShards kept_;
  ranks::ShardSums gradient_sums_;
  CompleteParts completed_;  ///< used during backward of the last shard's last pass
  /// For each rank its requests, then the losses of its shards. are_requests_ marks which words are requests.
  DeviceMemory words_, are_requests_;
  std::vector<size_t> word_at_;  ///< per rank, in bytes, and the end
  std::unique_ptr<ranks::DeviceEngine> engine_;
  std::optional<ranks::DeviceExchange> exchange_;  ///< if there are several ranks
  DeviceEvent ended_[2];
};

}  // namespace cortado
