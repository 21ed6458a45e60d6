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
#include "ranks/shard_sums.h"

namespace cortado::ranks {

class ShardExchange {
 public:
  /// `engine`, which outlives this, is used by this thread alone from the first start() to the end of wait().
  ShardExchange(Engine& engine, int64_t shards);
  ~ShardExchange();
  ShardExchange(const ShardExchange&) = delete;
  ShardExchange& operator=(const ShardExchange&) = delete;

  /// Begins to sum floats [begin, end) of all ranks' blocks, which goes to the same floats of `to`, on every rank. All
  /// ranks start the same parts in the same order. `sums` and `to` stay until wait(); `to` may be the only block.
  void start(const ShardSums& sums, float* to, int64_t begin, int64_t end);
  /// Returns when all is there that was started. Throws what the engine threw; then nothing is to be started any more.
  void wait();

 private:
  struct Part {
    const ShardSums* sums;
    float* to;
    int64_t begin, end;
  };
  void work();
  void sum(const Part& part);
  void send_and_receive(const Part& part, int64_t slice);
  void add_up(const Part& part, int64_t slice);
  const std::byte* packed(const Part& part);
  int64_t cut(const Part& part, int rank) const;

  Engine& engine_;
  std::vector<std::vector<Block>> blocks_;  ///< per rank
  std::vector<Block> all_blocks_;           ///< of all ranks, in the shards' order
  Context context_;                         ///< one thread's
  std::vector<float> packed_, received_;
  std::vector<size_t> send_at_, receive_at_, gather_at_;

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable started_, ended_;
  std::deque<Part> parts_;
  bool working_ = false, stopping_ = false;
  std::exception_ptr error_;

  std::jthread thread_;  ///< uses all of the above
};

}  // namespace cortado::ranks
