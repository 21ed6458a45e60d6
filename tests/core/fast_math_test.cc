// fast_math.h compared with the C library in double, over the full range.

#include "core/loops/fast_math.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace cortado {
namespace {

/// The largest error over [from, to], in ulp.
double worst(const std::function<float(float)>& function, const std::function<double(double)>& exact, double from,
             double to, double step) {
  double most = 0;
  for (double x = from; x <= to; x += step) {
    const double expected = exact(double(float(x)));
    const double unit = std::abs(double(std::nextafter(float(expected), HUGE_VALF)) - double(float(expected)));
    most = std::max(most, std::abs(double(function(float(x))) - expected) / unit);
  }
  return most;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(FastMath, ExpIsAccurate) {
  const auto exact = [](double x) { return std::exp(x); };
  EXPECT_LT(worst(fast_exp, exact, -87, 88, 1.1e-4), 2);
  EXPECT_LT(worst(fast_exp, exact, -1e-3, 1e-3, 1e-9), 2);
}

TEST(FastMath, TanhIsAccurate) {
  const auto exact = [](double x) { return std::tanh(x); };
  EXPECT_LT(worst(fast_tanh, exact, -10, 10, 1.1e-5), 4);
  EXPECT_LT(worst(fast_tanh, exact, -1e-4, 1e-4, 1e-10), 2);
}

TEST(FastMath, SigmoidIsAccurate) { EXPECT_LT(worst(fast_sigmoid, sigmoid, -80, 20, 1.1e-4), 4); }

TEST(FastMath, HandlesTheEnds) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(fast_exp(0), 1);
  EXPECT_EQ(fast_exp(infinity), infinity);
  EXPECT_LT(fast_exp(-infinity), 2e-38f);
  EXPECT_GE(fast_exp(-infinity), 0);
  EXPECT_EQ(fast_sigmoid(infinity), 1);
  EXPECT_EQ(fast_sigmoid(-infinity), 0);
  for (const float x : {50.0f, 1e30f, infinity}) {
    EXPECT_EQ(fast_tanh(x), 1);
    EXPECT_EQ(fast_tanh(-x), -1);
  }
  EXPECT_TRUE(std::isnan(fast_exp(nan)));
  EXPECT_TRUE(std::isnan(fast_tanh(nan)));
  EXPECT_TRUE(std::isnan(fast_sigmoid(nan)));
}

}  // namespace
}  // namespace cortado
