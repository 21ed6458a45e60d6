#include "core/threads/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace cortado {
namespace {

using Range = std::pair<int64_t, int64_t>;

std::set<Range> ranges_of(int threads, int64_t n, int64_t at_least) {
  Context context(threads);
  std::mutex mutex;
  std::set<Range> ranges;
  parallel_ranges(context, n, at_least, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(ranges.emplace(begin, end).second);
  });
  return ranges;
}

TEST(ParallelRanges, CoverEachIndexOnce) {
  for (const int threads : {1, 2, 3, 7})
    for (const int64_t n : {0, 1, 2, 7, 8, 1000}) {
      int64_t next = 0;
      for (const auto& [begin, end] : ranges_of(threads, n, 1)) {
        EXPECT_EQ(begin, next);
        EXPECT_GT(end, begin);
        next = end;
      }
      EXPECT_EQ(next, n);
    }
}

TEST(ParallelRanges, DependOnPiecesOnly) {
  const std::set<Range> expected{{0, 2}, {2, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 12}, {12, 14}, {14, 16}};
  for (const int threads : {1, 2, 3, 4})
    for (int i = 0; i < 20; ++i) EXPECT_EQ(ranges_of(threads, 16, 1), expected) << threads;
  EXPECT_EQ(ranges_of(8, 16, 1).size(), 16u);
}

TEST(ParallelRanges, HaveTheMinimumSize) {
  EXPECT_EQ(ranges_of(2, 99, 50), (std::set<Range>{{0, 99}}));
  EXPECT_EQ(ranges_of(2, 100, 50), (std::set<Range>{{0, 50}, {50, 100}}));
  for (const auto& [begin, end] : ranges_of(4, 4096, 100)) EXPECT_GE(end - begin, 100);
}

/// One thread blocks in its first range until all others are done. With a static distribution of ranges this would not
/// end.
TEST(ParallelRanges, DoNotWaitForABlockedThread) {
  Context context(2);
  constexpr int kRanges = 8;
  for (int i = 0; i < 50; ++i) {
    std::atomic<int> done = 0;
    std::atomic<bool> held = false;
    parallel_ranges(context, kRanges, 1, [&](int64_t, int64_t) {
      if (!held.exchange(true))
        while (done < kRanges - 1) std::this_thread::yield();
      ++done;
    });
    EXPECT_EQ(done, kRanges);
  }
}

TEST(ParallelRanges, CountJoins) {
  for (const int threads : {1, 2, 8, 16}) {
    Context context(threads);
    for (int i = 0; i < 5; ++i) parallel_ranges(context, 100, 1, [](int64_t, int64_t) {});
    parallel_ranges(context, 100, 99, [](int64_t, int64_t) {});  // one range
    EXPECT_EQ(context.joins, threads > 1 ? 5u : 0u) << threads;
    EXPECT_GT(seconds_of_join(context), 0);
  }
}

TEST(ParallelRanges, NestedRunInTheSameThread) {
  for (const int threads : {1, 2}) {
    Context context(threads);
    std::atomic<int> sum = 0;
    parallel_ranges(context, 8, 1, [&](int64_t begin, int64_t end) {
      const std::thread::id caller = std::this_thread::get_id();
      parallel_ranges(context, 100, 1, [&](int64_t from, int64_t to) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        EXPECT_EQ(to - from, 100);
      });
      sum += int(end - begin);
    });
    EXPECT_EQ(sum, 8);
  }
}

TEST(InPieces, WorkersRunOnePieceAtATime) {
  Context context(3);
  for (int i = 0; i < 100; ++i) {
    std::vector<std::atomic<int>> running(3), runs(40);
    in_pieces(context, 40, [&](int64_t piece, int worker) {
      ASSERT_LT(worker, 3);
      EXPECT_EQ(running[size_t(worker)]++, 0);
      ++runs[size_t(piece)];
      --running[size_t(worker)];
    });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace cortado
