#pragma once

// An iteration with several shards (SolverParameter.shards) on the CPU: the passes of this process, and the sums over
// all shards. Gradients are summed by a fixed tree over the shards, so their bits do not depend on the number of
// processes. solvers/device_shards.h has the version for devices.

#include <optional>

#include "ranks/shard_exchange.h"
#include "ranks/shard_sums.h"
#include "solvers/iteration.h"
#include "solvers/kept_over_shards.h"

namespace cortado {

class ShardTraining : public Iteration, private GradientReader, private ranks::SliceWork {
 public:
  ShardTraining(TrainState& state, Observers& observers);

 private:
  void run(int asked, bool looked_at) override;
  ShardOutcome forward(int asked);
  void backward_and_apply(const StepRates& rates, bool verbose);
  bool is_last(int64_t index) const { return index + 1 == state_.share.range.count; }
  double forward_shard(int64_t index);
  void on_complete(size_t param) override;
  void on_sum(const ranks::FloatRange& slice) override;
  void on_gathered(const ranks::FloatRange& part, const ranks::FloatRange& slice) override;
  void add_part(const ranks::FloatRange& part);
  void finish_kept();

  const int64_t passes_;  ///< per shard: iter_size
  std::span<float> gradients_;
  KeptOverShards kept_;
  ranks::ShardSums gradient_sums_;
  std::optional<ranks::ShardExchange> exchange_;  ///< if there is an engine

  Context slice_context_{1};  ///< for updates in the exchange's thread
  StepRates rates_;

  int64_t shard_ = 0;        ///< index in the range
  CompleteParts completed_;  ///< used during backward of a shard's last pass
};

}  // namespace cortado
