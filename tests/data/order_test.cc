#include "data/order.h"

#include <set>

#include "data/sources/lmdb_source.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

std::shared_ptr<const DataSource> numbered(const Folder& folder, int n) {
  Records records;
  for (int i = 0; i < n; ++i) records[std::to_string(100000 + i)] = std::string(size_t(i % 90), 'v');
  write_with_library(folder / "db", records);
  return lmdb_source(Lmdb::open(folder / "db"));
}

std::vector<std::string> take(RecordOrder& order, uint64_t from, int n) {
  std::vector<std::string> keys;
  for (int i = 0; i < n; ++i) keys.emplace_back(order.at(from + uint64_t(i)).key);
  return keys;
}

TEST(RecordOrder, WithoutShuffleItIsKeyOrder) {
  const Folder folder;
  RecordOrder order(numbered(folder, 500), {Shuffle::kNone, 1});
  const std::vector<std::string> first = take(order, 0, 500);
  EXPECT_TRUE(std::is_sorted(first.begin(), first.end()));
  EXPECT_EQ(take(order, 500, 500), first);
}

TEST(RecordOrder, EachShuffledEpochHoldsEveryRecordOnce) {
  const Folder folder;
  RecordOrder order(numbered(folder, 700), {Shuffle::kExact, 1});
  std::set<std::vector<std::string>> epochs;
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    const std::vector<std::string> keys = take(order, 700 * epoch, 700);
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 700u);
    EXPECT_FALSE(std::is_sorted(keys.begin(), keys.end()));
    epochs.insert(keys);
  }
  EXPECT_EQ(epochs.size(), 4u) << "two epochs had the same order";
}

TEST(RecordOrder, AllPermutationsOfThreeAreEquallyFrequent) {
  const Folder folder;
  RecordOrder order(numbered(folder, 3), {Shuffle::kExact, 3});
  std::map<std::vector<std::string>, int> counts;
  for (uint64_t epoch = 0; epoch < 6000; ++epoch) ++counts[take(order, 3 * epoch, 3)];
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [keys, count] : counts) EXPECT_NEAR(count, 1000, 150);  // five standard deviations
}

TEST(RecordOrder, PositionsHaveRandomAccess) {
  const Folder folder;
  const auto database = numbered(folder, 97);
  for (const Shuffle shuffle : {Shuffle::kNone, Shuffle::kExact, Shuffle::kBlocks}) {
    RecordOrder straight(database, {shuffle, 4}), jumping(database, {shuffle, 4}), other(database, {shuffle, 5});
    const std::vector<std::string> keys = take(straight, 0, 400);
    for (const int from : {0, 1, 96, 97, 98, 200, 300, 5})
      EXPECT_EQ(take(jumping, uint64_t(from), 60),
                std::vector<std::string>(keys.begin() + from, keys.begin() + from + 60));
    EXPECT_EQ(take(other, 0, 400) == keys, shuffle == Shuffle::kNone) << "a shuffled order depends on the seed";
  }
}

TEST(RecordOrder, NumbersAreThoseOfKeyOrder) {
  const Folder folder;
  RecordOrder order(numbered(folder, 60), {Shuffle::kExact, 2});
  for (uint64_t i = 0; i < 150; ++i) {
    const Record record = order.at(i);
    EXPECT_EQ(record.key, std::to_string(100000 + record.number));
  }
}

TEST(ShuffledOrder, EveryEpochOfBlocksHoldsEveryRecordOnce) {
  ShuffledOrder order(1003, 20, 4, 7);
  std::set<std::vector<uint64_t>> epochs;
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    std::vector<uint64_t> records;
    for (uint64_t i = 0; i < 1003; ++i) records.push_back(order.at(epoch, i));
    EXPECT_EQ(std::set<uint64_t>(records.begin(), records.end()).size(), 1003u);
    epochs.insert(records);
  }
  EXPECT_EQ(epochs.size(), 4u);
}

TEST(ShuffledOrder, IndexesHaveRandomAccess) {
  ShuffledOrder straight(503, 16, 3, 7), jumping(503, 16, 3, 7);
  std::vector<uint64_t> records;
  for (uint64_t i = 0; i < 1006; ++i) records.push_back(straight.at(i / 503, i % 503));
  for (uint64_t i = 0; i < 1006; i += 1) {
    const uint64_t p = i * 389 % 1006;
    ASSERT_EQ(jumping.at(p / 503, p % 503), records[p]);
  }
}

/// A pool of p blocks has exactly its records. Each block is announced first, so that it can be prefetched.
TEST(ShuffledOrder, ReadsNoMoreThanAPoolAtATime) {
  std::set<uint64_t> announced;
  ShuffledOrder order(640, 16, 4, 7, [&](uint64_t first, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) announced.insert(first + i);
  });
  for (uint64_t pool = 0; pool < 10; ++pool) {
    std::set<uint64_t> blocks;
    for (uint64_t i = 0; i < 64; ++i) {
      const uint64_t record = order.at(0, pool * 64 + i);
      ASSERT_TRUE(announced.count(record));
      blocks.insert(record / 16);
    }
    EXPECT_EQ(blocks.size(), 4u);
    EXPECT_LE(announced.size(), std::min<uint64_t>(640, (pool + 2) * 64)) << "announced more than one pool ahead";
  }
}

/// Records that are sorted by class must be mixed: counts records of the first half in each batch.
TEST(ShuffledOrder, BlocksMixDistantRecords) {
  ShuffledOrder order(100000, 500, 8, 3);
  int batches_all_of_a_half = 0;
  for (uint64_t batch = 0; batch < 390; ++batch) {
    int first_half = 0;
    for (uint64_t i = 0; i < 256; ++i) first_half += order.at(0, batch * 256 + i) < 50000;
    batches_all_of_a_half += first_half == 0 || first_half == 256;
  }
  EXPECT_LT(batches_all_of_a_half, 20);  // 2 in 2^8 pools, expected 3
}

}  // namespace

}  // namespace cortado::data::testing
