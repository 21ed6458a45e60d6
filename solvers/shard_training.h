#pragma once

// An iteration of shards (SolverParameter.shards): this process's passes, and the sums over those of all. Gradients are
// added by a fixed tree over the shards, so that they have the same bits in one process as in many. What layers keep by
// themselves, as BatchNorm its statistics, begins each shard as the iteration began, and ends as the mean over all.

#include <optional>
#include <vector>

#include "net/net.h"
#include "ranks/shard_exchange.h"
#include "ranks/shard_sums.h"
#include "solvers/rank_share.h"

namespace cortado {

/// What all ranks agree on after an iteration's passes.
struct ShardOutcome {
  double loss = 0;   ///< mean over all passes
  int requests = 0;  ///< Request flags of all ranks together
};

class ShardTraining : private GradientReader {
 public:
  /// The net computes in the host's memory and was built for config.shards. All references outlive this.
  ShardTraining(const caffe::SolverParameter& config, Net& net, const RankShare& share);

  /// All passes of one iteration, of which the first of all shards has the number `first_pass`. Afterwards the net's
  /// gradients are the sums over all shards. `requests`: this rank's.
  ShardOutcome run(uint64_t first_pass, int requests);

 private:
  double run_shard(int64_t index, uint64_t first_pass);
  void on_complete(size_t param) override;
  void add_gradients(int64_t from);
  void begin_kept(int64_t index);
  void end_kept(int64_t index);
  void finish_kept();
  void finish_alone(const ranks::ShardSums& sums, float* to);
  ShardOutcome gather(const std::vector<double>& losses, int requests);

  const int64_t passes_;  ///< of a shard: iter_size
  Net& net_;
  const RankShare share_;
  std::span<float> gradients_;
  std::vector<KeptWeight> kept_;
  std::vector<float> kept_before_, kept_change_, kept_mean_;
  ranks::ShardSums gradient_sums_, kept_sums_;
  std::optional<ranks::ShardExchange> exchange_;  ///< where there is an engine

  // While the last pass goes backward, gradients come to an end from the last param to the first, more or less.
  int64_t shard_ = 0;           ///< of the range
  std::vector<char> complete_;  ///< per param
  size_t left_ = 0;             ///< params from this one on are complete
  int64_t sent_ = 0;            ///< gradients from this one on were handed to the exchange
};

}  // namespace cortado
