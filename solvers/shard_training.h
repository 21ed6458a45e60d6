#pragma once

// An iteration of shards (SolverParameter.shards): this process's passes, and the sums over those of all. Gradients are
// added by a fixed tree over the shards, so that they have the same bits in one process as in many. On the CPU;
// solvers/device_shards.h has the others.

#include <optional>
#include <vector>

#include "net/net.h"
#include "ranks/shard_exchange.h"
#include "ranks/shard_sums.h"
#include "solvers/kept_over_shards.h"
#include "solvers/rank_share.h"
#include "solvers/shard_outcome.h"
#include "solvers/weight_update.h"

namespace cortado {

class ShardTraining : private GradientReader, private ranks::SliceWork {
 public:
  /// The net computes in the host's memory and was built for config.shards; `update` is of it. All references outlive
  /// this.
  ShardTraining(const caffe::SolverParameter& config, Net& net, const RankShare& share, WeightUpdate& update);

  /// All passes of one iteration but the last one's backward; the first of all shards has the number `first_pass`.
  /// `requests`: this rank's.
  ShardOutcome forward(uint64_t first_pass, int requests);
  /// The rest of them, and the update. Where ranks have slices of the weights each is updated as soon as its gradients
  /// are summed up, while backward goes on. `verbose` as in WeightUpdate::apply().
  void backward_and_apply(int64_t iter, const StepRates& rates, bool verbose);

 private:
  bool is_last(int64_t index) const { return index + 1 == share_.range.count; }
  double forward_shard(int64_t index, uint64_t first_pass);
  void on_complete(size_t param) override;
  void on_sum(const ranks::FloatRange& slice) override;
  void on_gathered(const ranks::FloatRange& part, const ranks::FloatRange& slice) override;
  void add_part(const ranks::FloatRange& part);
  void finish_kept();

  const int64_t passes_;  ///< of a shard: iter_size
  Net& net_;
  WeightUpdate& update_;
  const RankShare share_;
  std::span<float> gradients_;
  KeptOverShards kept_;
  ranks::ShardSums gradient_sums_;
  std::optional<ranks::ShardExchange> exchange_;  ///< where there is an engine

  Context slice_context_{1};  ///< of updates by the exchange's thread
  int64_t iter_ = 0;
  StepRates rates_;

  int64_t shard_ = 0;        ///< of the range
  CompleteParts completed_;  ///< while a shard's last pass goes backward
};

}  // namespace cortado
