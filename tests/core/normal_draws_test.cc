// Vectorized draws compared bitwise with RandomStream's.

#include "core/loops/normal_draws.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/rng.h"

namespace cortado {
namespace {

/// How many of the first `count` draws differ from RandomStream's.
int64_t strangers(uint64_t key, double mean, double deviation, int64_t count) {
  RandomStream stream(key);
  int64_t found = 0;
  for (int64_t first = 0; first < count; first += kNormalsAtOnce) {
    float values[kNormalsAtOnce];
    draw_normals(key, uint64_t(first), mean, deviation, values);
    for (const float value : values)
      found += std::bit_cast<uint32_t>(value) != std::bit_cast<uint32_t>(float(mean + deviation * stream.normal()));
  }
  return found;
}

TEST(NormalDraws, EqualRandomStream) {
  EXPECT_EQ(strangers(1, 0, 1, 1 << 22), 0);
  EXPECT_EQ(strangers(2, 0, 0.05, 1 << 20), 0);
  EXPECT_EQ(strangers(3, -0.3, 0.3, 1 << 20), 0);
}

TEST(NormalDraws, EqualRandomStreamForAnyScale) {
  const double largest = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  for (const double deviation : {largest, 1e30, 1e-3, 1e-30, least, 0.0})
    for (const double mean : {0.0, 1.0, -1e6, largest, least}) EXPECT_EQ(strangers(4, mean, deviation, 1 << 14), 0);
}

TEST(NormalDraws, StartAnywhere) {
  float all[2 * kNormalsAtOnce], some[kNormalsAtOnce];
  draw_normals(5, 0, 0, 1, all);
  draw_normals(5, kNormalsAtOnce, 0, 1, all + kNormalsAtOnce);
  draw_normals(5, 30, 0, 1, some);
  for (int i = 0; i < kNormalsAtOnce; ++i) EXPECT_EQ(some[i], all[30 + i]);
}

TEST(NormalDraws, OfNanAreNan) {
  float values[kNormalsAtOnce];
  draw_normals(6, 0, 0, std::numeric_limits<double>::quiet_NaN(), values);
  for (const float value : values) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace cortado
