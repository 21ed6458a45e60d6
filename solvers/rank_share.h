#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "data/batch_share.h"
#include "net/net.h"
#include "ranks/engine.h"
#include "ranks/shard_tree.h"
#include "ranks/slices.h"
#include "solvers/iteration_plan.h"

namespace cortado {

/// The ranks of a training, and the shards of an iteration that belong to this rank.
struct RankShare {
  ranks::Engine* engine = nullptr;  ///< null: this is the only process
  int64_t shards = 1;
  ranks::ShardRange range = {};

  int rank() const { return engine ? engine->rank() : 0; }
  int ranks() const { return engine ? engine->ranks() : 1; }
  /// Whether the requests of other ranks arrive with an iteration's results.
  bool shares_requests() const { return engine && shards > 1; }
  /// The rank that tests, writes snapshots and logs.
  bool is_first() const { return rank() == 0; }
};

/// `engine` may be null. It must not have more ranks than there are shards.
inline RankShare share_of(const IterationPlan& plan, ranks::Engine* engine) {
  const int64_t shards = std::max(1, plan.shards);
  if (!engine) return {nullptr, shards, {0, shards}};
  return {engine, shards, ranks::range_of(engine->rank(), engine->ranks(), shards)};
}

/// Floats per exchange, 25 MB: large enough for full bandwidth.
inline constexpr int64_t kExchangedPart = (int64_t(25) << 20) / 4;

/// Parts of a net's gradients, in order of memory, each of whole params. They are summed one at a time. Backward
/// completes them roughly from the last to the first.
std::vector<ranks::FloatRange> gradient_parts(Net& net);

/// Tracks which parts of a net's gradients backward has completed: all params after the last incomplete one.
class CompleteParts {
 public:
  explicit CompleteParts(Net& net);

  const std::vector<ranks::FloatRange>& parts() const { return parts_; }
  void begin();  ///< before a pass
  /// Called as GradientReader::on_complete(). Calls ready(index) for each part that is complete now, from the last to
  /// the first.
  template <typename Ready>
  void on_complete(size_t param, const Ready& ready) {
    complete_[param] = 1;
    while (left_ > 0 && complete_[left_ - 1]) --left_;
    while (parts_left_ > 0 && parts_[parts_left_ - 1].begin >= begins_[left_]) ready(--parts_left_);
  }

 private:
  std::vector<ranks::FloatRange> parts_;
  std::vector<int64_t> begins_;  ///< per param: start of the memory of it and all later ones; the end; first is 0
  std::vector<char> complete_;   ///< per param
  size_t left_ = 0;              ///< params from this index on are complete
  size_t parts_left_ = 0;        ///< parts from this index on were passed to ready()
};

/// For each rank the slices that it sums.
std::vector<std::vector<ranks::FloatRange>> slices_of_ranks(Net& net, int ranks);

/// The batches that this rank reads.
inline data::BatchShare batches_of(const IterationPlan& plan, const RankShare& share) {
  const int64_t passes = plan.passes_of_shard();
  return {share.range.first * passes, share.range.count * passes, share.shards * passes};
}

// Collective: values that exist once for each shard, `bytes` for each, in the order of shards. `own` has those of this
// rank, `all` those of all shards, used on the first rank only. The engine must not be null.

/// The first rank receives all of them.
void gather_shards(const RankShare& share, size_t bytes, const void* own, void* all);
/// The first rank sends each rank its own.
void deal_shards(const RankShare& share, size_t bytes, const void* all, void* own);

/// What all ranks agree on after the passes of an iteration.
struct ShardOutcome {
  double loss = 0;   ///< mean over all passes
  int requests = 0;  ///< Request flags of all ranks combined
};

/// Collective. `losses`: the mean loss of each of this rank's shards; `requests`: those of this rank. The losses of all
/// shards are added in the order of shards.
ShardOutcome gather_outcome(const RankShare& share, const std::vector<double>& losses, int requests);

}  // namespace cortado
