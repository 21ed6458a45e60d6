#include "core/threads/cpu_contention.h"

#include <gtest/gtest.h>

#include "core/threads/threads.h"

namespace cortado {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

TEST(CpuContention, BeginsLateAndEndsLate) {
  CpuContention thread;
  CpuContention::Times times{5 * kMillisecond, 100 * kMillisecond};  // what was before the first look does not count
  EXPECT_FALSE(thread.after(times));
  const auto after = [&](int64_t ran, int64_t waited) {
    times.ran += ran * kMillisecond, times.waited += waited * kMillisecond;
    return thread.after(times);
  };
  EXPECT_FALSE(after(98, 2));
  EXPECT_FALSE(after(90, 10));
  EXPECT_TRUE(after(80, 20));
  EXPECT_TRUE(after(92, 8)) << "less than it takes to begin, but too much to end";
  EXPECT_TRUE(after(0, 1)) << "too short to tell";
  EXPECT_FALSE(after(99, 1));
}

TEST(CpuContention, CanBeAskedAtAnyTime) {
  CpuContention thread;
  for (int i = 0; i < 1000; ++i) thread.now();
}

}  // namespace
}  // namespace cortado
