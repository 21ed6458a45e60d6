#include "core/threads/cpu_contention.h"

#include <gtest/gtest.h>

#include "core/threads/threads.h"

namespace cortado {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

TEST(CpuContention, HasHysteresis) {
  CpuContention thread;
  CpuContention::Times times{5 * kMillisecond, 100 * kMillisecond};  // times before the first sample do not count
  EXPECT_FALSE(thread.after(times));
  const auto after = [&](int64_t ran, int64_t waited) {
    times.ran += ran * kMillisecond, times.waited += waited * kMillisecond;
    return thread.after(times);
  };
  EXPECT_FALSE(after(98, 2));
  EXPECT_FALSE(after(90, 10));
  EXPECT_TRUE(after(80, 20));
  EXPECT_TRUE(after(92, 8)) << "below the threshold to begin, above the one to end";
  EXPECT_TRUE(after(0, 1)) << "too short a sample";
  EXPECT_FALSE(after(99, 1));
}

TEST(CpuContention, SamplesAtAnyTime) {
  CpuContention thread;
  for (int i = 0; i < 1000; ++i) thread.now();
}

}  // namespace
}  // namespace cortado
