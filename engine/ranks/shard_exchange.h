#pragma once

// Sums over the shards of all ranks, concurrently with the ranks' computation. A thread uses the engine: each rank gets
// its slice of each part from all others, sums it in the order of the tree, and the sums are gathered. That moves as
// many bytes as a ring, and does not depend on a library's order of additions.

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

/// Additional work on sums, in the thread of the exchange.
class SliceWork {
 public:
  virtual ~SliceWork() = default;
  /// The floats of this rank's slice are the sum over all shards; what the call writes there goes to all ranks.
  virtual void on_sum(const FloatRange& slice) = 0;
  /// The floats of the whole part are those that each slice's rank wrote in on_sum().
  virtual void on_gathered(const FloatRange& part, const FloatRange& slice) = 0;
};

class ShardExchange {
 public:
  /// `engine` must outlive this object. Only its thread uses it from the first start() to the end of wait().
  ShardExchange(Engine& engine, int64_t shards);
  ~ShardExchange();
  ShardExchange(const ShardExchange&) = delete;
  ShardExchange& operator=(const ShardExchange&) = delete;

  /// Starts to sum the part's floats of all ranks' blocks into the same floats of `to`, on every rank. All ranks start
  /// the same parts in the same order. Arguments must stay valid until wait(). `to` may be the only block, `work` may
  /// be null.
  void start(const ShardSums& sums, float* to, const FloatRange& part, SliceWork* work = nullptr);
  /// Waits for everything that was started. Throws what the engine threw; then nothing may be started any more.
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
  Context context_;  ///< of one thread
  std::vector<float> packed_, received_;

  std::mutex mutex_;  ///< guards the members below
  std::condition_variable started_, ended_;
  std::deque<Part> parts_;
  bool working_ = false, stopping_ = false;
  std::exception_ptr error_;

  std::jthread thread_;  ///< uses all of the above
};

}  // namespace cortado::ranks
