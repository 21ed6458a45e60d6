#pragma once

// Sums over the shards of all ranks, computed while the ranks go on. A thread of its own talks to the engine: each rank
// gets the parts of its slice from all others, adds them up by the tree, and the sums are gathered. That moves as many
// bytes as a ring would, and no library's order of additions is relied on.

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/context.h"
#include "ranks/engine.h"
#include "ranks/exchange_places.h"
#include "ranks/shard_sums.h"
#include "ranks/slices.h"

namespace cortado::ranks {

/// What is done with sums besides, by the thread of the exchange.
class SliceWork {
 public:
  virtual ~SliceWork() = default;
  /// Floats of this rank's slice are the sum over all shards; what the call leaves there goes to all ranks.
  virtual void on_sum(const FloatRange& slice) = 0;
  /// Floats of the whole part are what each slice's rank left there.
  virtual void on_gathered(const FloatRange& part, const FloatRange& slice) = 0;
};

class ShardExchange {
 public:
  /// `engine`, which outlives this, is used by this thread alone from the first start() to the end of wait().
  ShardExchange(Engine& engine, int64_t shards);
  ~ShardExchange();
  ShardExchange(const ShardExchange&) = delete;
  ShardExchange& operator=(const ShardExchange&) = delete;

  /// Begins to sum the part's floats of all ranks' blocks, which go to the same floats of `to`, on every rank. All
  /// ranks start the same parts in the same order. All arguments stay until wait(); `to` may be the only block, `work`
  /// null.
  void start(const ShardSums& sums, float* to, const FloatRange& part, SliceWork* work = nullptr);
  /// Returns when all is there that was started. Throws what the engine threw; then nothing is to be started any more.
  void wait();

 private:
  struct Part {
    const ShardSums* sums;
    float* to;
    FloatRange range;
    SliceWork* work;
  };
  void work();
  void sum(const Part& part);
  void send_and_receive(const Part& part);
  void add_up(const Part& part);
  const std::byte* packed(const Part& part);
  FloatRange own_slice(const Part& part) const { return places_.own_slice(part.range); }

  Engine& engine_;
  ExchangePlaces places_;
  Context context_;  ///< one thread's
  std::vector<float> packed_, received_;

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable started_, ended_;
  std::deque<Part> parts_;
  bool working_ = false, stopping_ = false;
  std::exception_ptr error_;

  std::jthread thread_;  ///< uses all of the above
};

}  // namespace cortado::ranks
