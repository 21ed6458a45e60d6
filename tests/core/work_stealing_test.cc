#include "core/threads/work_stealing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

namespace cortado {
namespace {

using Items = std::vector<int64_t>;

/// The items of `worker` until none is left.
Items all_for(WorkStealingRange& shares, int64_t worker) {
  Items items;
  for (int64_t item; (item = shares.next(worker)) >= 0;) items.push_back(item);
  return items;
}

TEST(WorkStealingRange, TakesItsOwnPartInOrderThenOthersFromTheEnd) {
  WorkStealingRange shares(3);
  shares.deal(7);  // 0 1 | 2 3 | 4 5 6
  EXPECT_EQ(shares.next(2), 4);
  EXPECT_EQ(all_for(shares, 1), (Items{2, 3, 6, 5, 1, 0}));
  EXPECT_EQ(shares.next(0), -1);
  shares.deal(2);  // none | 0 | 1
  EXPECT_EQ(all_for(shares, 0), (Items{0, 1}));
}

TEST(WorkStealingRange, EachItemIsTakenOnce) {
  WorkStealingRange shares(4);
  for (const int64_t n : {0, 1, 3, 4, 1001}) {
    shares.deal(n);
    std::vector<Items> taken(size_t(shares.workers()));
    std::vector<std::jthread> threads;
    for (int64_t worker = 0; worker < shares.workers(); ++worker)
      threads.emplace_back([&, worker] { taken[size_t(worker)] = all_for(shares, worker); });
    threads.clear();
    Items all, expected(size_t(n), 0);
    for (const Items& items : taken) all.insert(all.end(), items.begin(), items.end());
    std::sort(all.begin(), all.end());
    std::iota(expected.begin(), expected.end(), int64_t(0));
    EXPECT_EQ(all, expected);
  }
}

}  // namespace
}  // namespace cortado
