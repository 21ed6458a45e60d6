#pragma once

// Iterations of local steps (SolverParameter.local_steps), for ranks with a slow network between them: DiLoCo
// (Douillard et al. 2023, arXiv:2311.08105). All V shards start from common weights w. Shard s makes H updates with the
// solver's rule, keeps its own history from iteration to iteration, and ends at w_s. Then
//   g = -1/V sum of (w_s - w),  v = outer_momentum v + g,  w = w - outer_lr (g + outer_momentum v).
// The sum is taken by the shards' tree, so its bits do not depend on the number of processes. State such as BatchNorm's
// statistics changes by the mean of the shards' changes.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ranks/shard_exchange.h"
#include "ranks/shard_sums.h"
#include "solvers/iteration.h"

namespace cortado {

class LocalSteps : public Iteration {
 public:
  LocalSteps(TrainState& state, Observers& observers);

  /// The velocity v. If the snapshot has none, it starts at zero.
  void save(caffe::TrainingState& training) override;
  void load(const caffe::TrainingState& training) override;

  void gather_histories() override;
  void share_histories() override;
  void drop_histories() override { all_histories_ = {}; }
  /// The histories of all shards but the first, which is in Caffe's fields. If the state has fewer shards, the others
  /// start from copies of those.
  void save_histories(caffe::TrainingState& training) override;
  void load_histories(const caffe::SolverState& state, const std::string& path) override;

 private:
  void run(int asked, bool looked_at) override;
  ShardOutcome run_shards(const StepRates& rates, int asked, bool verbose);
  double run_shard(int64_t index, const StepRates& rates, bool verbose);
  double run_step(WeightUpdate& update, int64_t first_pass, int64_t number, const StepRates& rates, bool verbose);
  void copy_out(std::vector<float>& to) const;
  void copy_in(const std::vector<float>& from);
  void sum_up();
  void finish();
  float* velocity_of(size_t blob);
  std::span<std::byte> history_of(int64_t shard);
  size_t history_bytes() const { return updates_[0]->history_memory().size(); }

  const IterationPlan& plan_;
  std::vector<std::unique_ptr<WeightUpdate>> more_;  ///< for this rank's other shards
  std::vector<WeightUpdate*> updates_;               ///< for this rank's shards
  std::vector<std::span<float>> places_;             ///< learned weights, then the state of layers
  std::vector<int64_t> offsets_;                     ///< per place: its offset in the arrays below
  std::vector<float> begin_;                         ///< the common weights
  std::vector<float> change_;                        ///< of one shard; then the sum over all
  std::vector<float> velocity_;                      ///< of the learned weights
  ranks::ShardSums sums_;
  std::optional<ranks::ShardExchange> exchange_;  ///< if there is an engine
  WeightList list_;
  std::vector<std::byte> all_histories_;  ///< of all shards, on the first rank only
};

}  // namespace cortado
