#include "tools/runs/pace.h"

#include <gtest/gtest.h>

namespace cortado::runs {
namespace {

Progress progress_at(int64_t iter, double seconds, double waited) {
  Progress progress;
  progress.start_iter = 100;
  progress.iter = iter;
  progress.seconds = seconds;
  progress.wait_seconds = waited;
  progress.images_per_iter = 8;
  return progress;
}

TEST(Pace, IsOfTheTimeSinceTheLastLine) {
  Pace pace;
  EXPECT_FALSE(pace.now(progress_at(100, 0, 0)));
  const auto slow = pace.now(progress_at(110, 10, 5));
  ASSERT_TRUE(slow);
  EXPECT_DOUBLE_EQ(slow->images_per_second, 8);
  EXPECT_DOUBLE_EQ(slow->data_wait, 0.5);
  const auto fast = pace.now(progress_at(130, 12, 5));
  ASSERT_TRUE(fast);
  EXPECT_DOUBLE_EQ(fast->images_per_second, 80);
  EXPECT_DOUBLE_EQ(fast->data_wait, 0);
  EXPECT_FALSE(pace.now(progress_at(130, 12, 5)));
}

TEST(Pace, BeginsWithTheRun) {
  Pace pace;
  EXPECT_DOUBLE_EQ(pace.now(progress_at(105, 4, 1))->images_per_second, 10);
}

}  // namespace
}  // namespace cortado::runs
