#include "ranks/shard_sums.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/error.h"
#include "ranks/shard_exchange.h"
#include "tests/harness/thread_ranks.h"

namespace cortado::ranks {
namespace {

/// The tree by its definition: in a node with n shards the left child has the largest power of two below n.
template <typename T, typename Leaf, typename Add>
T tree(int64_t first, int64_t n, const Leaf& leaf, const Add& add) {
  if (n == 1) return leaf(first);
  int64_t left = 1;
  while (2 * left < n) left *= 2;
  return add(tree<T>(first, left, leaf, add), tree<T>(first + left, n - left, leaf, add));
}

std::string terms(int64_t shards) {
  return tree<std::string>(
      0, shards, [](int64_t i) { return std::to_string(i); },
      [](const std::string& a, const std::string& b) { return "(" + a + "+" + b + ")"; });
}

TEST(ShardTree, IsIndependentOfTheRanks) {
  EXPECT_EQ(terms(4), "((0+1)+(2+3))");
  EXPECT_EQ(terms(7), "(((0+1)+(2+3))+((4+5)+6))");
  for (int64_t shards = 1; shards <= 20; ++shards)
    for (int ranks = 1; ranks <= shards; ++ranks) {
      std::vector<Block> blocks;
      std::vector<std::string> sums;
      int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const ShardRange range = range_of(rank, ranks, shards);
        EXPECT_EQ(range.first, next);
        EXPECT_GE(range.count, 1);
        next += range.count;
        for (const Block& block : blocks_of(range)) {
          blocks.push_back(block);
          sums.push_back(tree<std::string>(
              block.first, block.count, [](int64_t i) { return std::to_string(i); },
              [](const std::string& a, const std::string& b) { return "(" + a + "+" + b + ")"; }));
        }
      }
      EXPECT_EQ(next, shards);
      fold(blocks, [&](size_t to, size_t from) { sums[to] = "(" + sums[to] + "+" + sums[from] + ")"; });
      EXPECT_EQ(sums[0], terms(shards)) << shards << " shards, " << ranks << " ranks";
    }
}

/// Values whose sum depends on the order of additions.
std::vector<float> shard_values(int64_t shard, int64_t floats) {
  std::mt19937 random{uint32_t(shard) + 1};
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(floats));
  for (float& value : values) value = normal(random) * std::exp2(float(random() % 24));
  return values;
}

std::vector<float> reference(int64_t shards, int64_t floats) {
  return tree<std::vector<float>>(
      0, shards, [&](int64_t i) { return shard_values(i, floats); },
      [](std::vector<float> a, const std::vector<float>& b) {
        for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
        return a;
      });
}

/// Each rank adds its shards in parts from last to first, as gradients arrive, while parts are exchanged.
TEST(ShardExchange, EveryRankGetsTheBitsOfTheTree) {
  for (const int64_t floats : {int64_t(1), int64_t(37), int64_t(100000)})
    for (const int64_t shards : {1, 2, 3, 4, 5, 7, 8})
      for (int ranks = 1; ranks <= std::min<int64_t>(shards, 5); ++ranks) {
        SCOPED_TRACE(std::to_string(floats) + " floats, " + std::to_string(shards) + " shards, " +
                     std::to_string(ranks) + " ranks");
        const std::vector<float> expected = reference(shards, floats);
        std::vector<std::vector<float>> got(static_cast<size_t>(ranks));
        const auto errors = ThreadRanks(ranks).run([&](Engine& engine) {
          Context context(1);
          const ShardRange range = range_of(engine.rank(), ranks, shards);
          ShardSums sums(context, floats, range);
          ShardExchange exchange(engine, shards);
          std::vector<float> values;
          for (int round = 0; round < 2; ++round) {  // the second round must not depend on the first
            for (int64_t i = 0; i < range.count; ++i) {
              values = shard_values(range.first + i, floats);
              for (int64_t end = floats; end > 0; end = end / 3) {
                sums.add(context, i, values.data(), end / 3, end);
                if (i + 1 == range.count) exchange.start(sums, values.data(), {end / 3, end});
              }
            }
            exchange.wait();
          }
          got[size_t(engine.rank())] = values;
        });
        for (const std::exception_ptr& error : errors) EXPECT_EQ(error, nullptr);
        for (const std::vector<float>& sum : got) EXPECT_EQ(sum, expected);
      }
}

struct FailingEngine : Engine {
  std::string name() const override { return "failing"; }
  int rank() const override { return 0; }
  int ranks() const override { return 2; }
  double stall_seconds() const override { return 1; }
  void all_to_all(const std::byte*, std::span<const size_t>, std::byte*, std::span<const size_t>) override {
    throw Error(ExitCode::kIo, "rank 1 has died");
  }
  void all_gather(std::byte*, std::span<const size_t>) override {}
  void broadcast(std::byte*, size_t, int) override {}
  void leave(int) override {}
};

TEST(ShardExchange, RethrowsErrorsOfTheEngine) {
  FailingEngine engine;
  Context context(1);
  std::vector<float> values(10);
  ShardSums sums(context, 10, {0, 1});
  ShardExchange exchange(engine, 2);
  sums.add(context, 0, values.data());
  exchange.start(sums, values.data(), {5, 10});
  exchange.start(sums, values.data(), {0, 5});
  EXPECT_THROW(exchange.wait(), Error);
}

}  // namespace
}  // namespace cortado::ranks
