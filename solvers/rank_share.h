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

/// The ranks of a training, and which of an iteration's shards are this one's.
struct RankShare {
  ranks::Engine* engine = nullptr;  ///< null: this process is alone
  int64_t shards = 1;
  ranks::ShardRange range = {};

  int rank() const { return engine ? engine->rank() : 0; }
  int ranks() const { return engine ? engine->ranks() : 1; }
  /// Whether an iteration's passes bring what other ranks were asked for.
  bool shares_requests() const { return engine && shards > 1; }
  /// The rank that tests, writes snapshots and says what there is to say.
  bool is_first() const { return rank() == 0; }
};

/// `engine`, which may be null, has no more ranks than there are shards.
inline RankShare share_of(const IterationPlan& plan, ranks::Engine* engine) {
  const int64_t shards = std::max(1, plan.shards);
  if (!engine) return {nullptr, shards, {0, shards}};
  return {engine, shards, ranks::range_of(engine->rank(), engine->ranks(), shards)};
}

/// Floats that are exchanged at once, 25 MB: more than enough for a line to be at its best.
inline constexpr int64_t kExchangedPart = (int64_t(25) << 20) / 4;

/// The parts of a net's gradients that are summed up one after the other, from the first to the last in memory, each of
/// whole params. Backward makes them from the last to the first, more or less.
std::vector<ranks::FloatRange> gradient_parts(Net& net);

/// Which parts of a net's gradients backward has completed. What lies behind the first param that is not complete is.
class CompleteParts {
 public:
  explicit CompleteParts(Net& net);

  const std::vector<ranks::FloatRange>& parts() const { return parts_; }
  void begin();  ///< a pass
  /// As GradientReader is told. Calls ready(index) for each part that is complete now, from the last to the first.
  template <typename Ready>
  void on_complete(size_t param, const Ready& ready) {
    complete_[param] = 1;
    while (left_ > 0 && complete_[left_ - 1]) --left_;
    while (parts_left_ > 0 && parts_[parts_left_ - 1].begin >= begins_[left_]) ready(--parts_left_);
  }

 private:
  std::vector<ranks::FloatRange> parts_;
  std::vector<int64_t> begins_;  ///< per param, of what it and all behind it have; the end; that of the first one is 0
  std::vector<char> complete_;   ///< per param
  size_t left_ = 0;              ///< params from this one on are complete
  size_t parts_left_ = 0;        ///< parts from this one on were told
};

/// Of each rank the slices that it sums up.
std::vector<std::vector<ranks::FloatRange>> slices_of_ranks(Net& net, int ranks);

/// The batches that a rank reads.
inline data::BatchShare batches_of(const IterationPlan& plan, const RankShare& share) {
  const int64_t passes = plan.passes_of_shard();
  return {share.range.first * passes, share.range.count * passes, share.shards * passes};
}

/// What all ranks agree on after an iteration's passes.
struct ShardOutcome {
  double loss = 0;   ///< mean over all passes
  int requests = 0;  ///< Request flags of all ranks together
};

/// Collective: from the mean loss of each of this rank's shards and its own requests. The losses of all shards are
/// added in their order.
ShardOutcome gather_outcome(const RankShare& share, const std::vector<double>& losses, int requests);

}  // namespace cortado
