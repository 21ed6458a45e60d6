#include "tools/output/sparkline.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tools/net/net_memory.h"
#include "tools/output/terminal.h"

namespace cortado::tools::testing {

namespace {

TEST(Sparkline, RisesFromTheLeastToTheLargest) {
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({7, 0}), "█▁");
  EXPECT_EQ(sparkline({5, 5, 5}), "▁▁▁");
  EXPECT_EQ(sparkline({1, NAN, 2}), "▁ █");
  EXPECT_EQ(sparkline({1}), "");
  EXPECT_EQ(sparkline({NAN, INFINITY, 1}), "");
}

TEST(Stretches, AreMeansOfAllValues) {
  Stretches series;
  for (int i = 0; i < 10000; ++i) series.add(i);
  const std::vector<double> means = series.means(10);
  ASSERT_EQ(means.size(), 10U);
  for (size_t i = 0; i < 10; ++i) EXPECT_NEAR(means[i], 1000 * double(i) + 500, 350) << i;
  Stretches few;
  few.add(3);
  few.add(1);
  EXPECT_EQ(few.means(10), (std::vector<double>{3, 1}));
}

TEST(ProgressLine, CountsColumnsNotBytes) {
  EXPECT_EQ(columns_of("▁▂ a"), 4U);
  EXPECT_EQ(fitted({{"ab", 0}, {"▁▂▃", 1, " "}}, 6), "ab ▁▂▃");
  EXPECT_EQ(fitted({{"ab", 0}, {"▁▂▃", 1, " "}}, 5), "ab");
}

TEST(LargestBatch, StaysWithinTheBudget) {
  int asked = 0;
  const auto line = [&](int64_t batch) {
    ++asked;
    return 1000 + 37 * batch + batch % 5;
  };
  for (const int64_t budget : {1040, 1080, 5000, 123456, 9999999}) {
    asked = 0;
    const FittingBatch fits = largest_batch(budget, 65536, line);
    EXPECT_LE(line(fits.batch), budget);
    EXPECT_TRUE(fits.batch == 65536 || line(fits.batch + 1) > budget) << budget << " " << fits.batch;
    EXPECT_EQ(fits.bytes, line(fits.batch));
    EXPECT_LT(asked, 24);
  }
  EXPECT_EQ(largest_batch(1000, 65536, line).batch, 0);
}

TEST(ReadBytes, TakesTheUsualUnits) {
  EXPECT_EQ(read_bytes("8GB"), int64_t(8) << 30);
  EXPECT_EQ(read_bytes("512MiB"), 512 << 20);
  EXPECT_EQ(read_bytes("1.5k"), 1536);
  EXPECT_EQ(read_bytes("1000"), 1000);
  for (const char* wrong : {"", "x", "8x", "8GBB", "-1", "0", "nan", "1e30"})
    EXPECT_THROW(read_bytes(wrong), Error) << wrong;
}

}  // namespace

}  // namespace cortado::tools::testing
