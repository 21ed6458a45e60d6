#pragma once

// The values other than weights that layers carry from one forward pass to the next (BatchMemory::carried()), as LSTM
// its state, in a training with several shards. Each shard continues with what its own passes left, so the values do
// not depend on the process that computes it.

#include <string>
#include <vector>

#include "core/device/device_memory.h"
#include "net/net.h"
#include "proto/cortado.pb.h"
#include "solvers/rank_share.h"

namespace cortado {

class CarriedStates {
 public:
  /// Allocates memory on the net's device. The net and the engine must outlive this object. All shards start with
  /// zeros.
  explicit CarriedStates(Net& net, const RankShare& share = {});

  /// From now on the layers continue with the values of this rank's shard `index`. Queued on the net's context. Between
  /// iterations the first one is selected.
  void select(int64_t index);

  /// Notes the values of this rank's shards in place `slot`, 0 or 1, and restores them from there. Queued.
  void note(int slot);
  void recall(int slot);

  /// Collective. gather: the first rank receives the values of all shards, until drop(). distribute: it sends those
  /// that it has loaded, or zeros.
  void gather();
  void distribute();
  void drop() { all_ = {}; }

  // Called on the first rank. In a snapshot a layer has one blob of values for each shard.

  /// Saves what gather() received; `net` is the snapshot's name of the net.
  void save(const std::string& net, caffe::TrainingState& training) const;
  /// Shards without values of the right size start with zeros and a warning. Several ranks must then distribute().
  void load(const caffe::TrainingState& training, const std::string& net);

  /// Of all shards.
  int64_t bytes() const { return share_.shards * int64_t(bytes_of_shard()); }

 private:
  size_t bytes_of_shard() const { return size_t(floats_) * sizeof(float); }
  float* stored() const { return reinterpret_cast<float*>(stored_.data()); }
  std::vector<float> read_own();
  void write_own(const float* values);
  template <typename Visit>
  void for_each_place(const Visit& visit);

  Context& context_;
  const RankShare share_;
  const std::vector<CarriedValues> layers_;
  const int64_t floats_;    ///< of one shard
  int64_t selected_ = 0;    ///< the shard whose values are in the layers
  DeviceMemory stored_;     ///< for each of this rank's shards; empty if there is one
  DeviceMemory noted_[2];   ///< as stored_, from the first note()
  std::vector<float> all_;  ///< of all shards, on the first rank only
};

}  // namespace cortado
