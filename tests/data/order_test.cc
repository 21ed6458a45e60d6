#include "data/order.h"

#include <set>

#include "fixtures.h"

namespace cortado::data::testing {

namespace {

std::shared_ptr<const Lmdb> numbered(const Folder& folder, int n) {
  Records records;
  for (int i = 0; i < n; ++i) records[std::to_string(100000 + i)] = std::string(size_t(i % 90), 'v');
  write_with_library(folder / "db", records);
  return Lmdb::open(folder / "db");
}

std::vector<std::string> take(RecordOrder& order, int n) {
  std::vector<std::string> keys;
  for (int i = 0; i < n; ++i) keys.emplace_back(order.next().key);
  return keys;
}

TEST(RecordOrder, WithoutShuffleItIsKeyOrder) {
  const Folder folder;
  RecordOrder order(numbered(folder, 500), false, 1);
  const std::vector<std::string> first = take(order, 500);
  EXPECT_TRUE(std::is_sorted(first.begin(), first.end()));
  EXPECT_EQ(take(order, 500), first);
  EXPECT_EQ(order.position(), 1000u);
}

TEST(RecordOrder, EachShuffledEpochHoldsEveryRecordOnce) {
  const Folder folder;
  RecordOrder order(numbered(folder, 700), true, 1);
  std::set<std::vector<std::string>> epochs;
  for (int epoch = 0; epoch < 4; ++epoch) {
    const std::vector<std::string> keys = take(order, 700);
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 700u);
    EXPECT_FALSE(std::is_sorted(keys.begin(), keys.end()));
    epochs.insert(keys);
  }
  EXPECT_EQ(epochs.size(), 4u) << "two epochs had the same order";
}

TEST(RecordOrder, AllPermutationsOfThreeComeUpEquallyOften) {
  const Folder folder;
  RecordOrder order(numbered(folder, 3), true, 3);
  std::map<std::vector<std::string>, int> counts;
  for (int epoch = 0; epoch < 6000; ++epoch) ++counts[take(order, 3)];
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [keys, count] : counts) EXPECT_NEAR(count, 1000, 150);  // five standard deviations
}

TEST(RecordOrder, AnySeekContinuesTheSameOrder) {
  const Folder folder;
  const auto database = numbered(folder, 97);
  for (const bool shuffle : {false, true}) {
    RecordOrder straight(database, shuffle, 4), seeking(database, shuffle, 4), other(database, shuffle, 5);
    const std::vector<std::string> keys = take(straight, 400);
    for (const int from : {0, 1, 96, 97, 98, 200, 300, 5}) {
      seeking.seek(uint64_t(from));
      EXPECT_EQ(take(seeking, 60), std::vector<std::string>(keys.begin() + from, keys.begin() + from + 60));
    }
    EXPECT_EQ(take(other, 400) == keys, !shuffle) << "the seed decides";
  }
}

}  // namespace

}  // namespace cortado::data::testing
