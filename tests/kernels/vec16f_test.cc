// 16 lanes, in this CPU's registers and in the portable version, compared with scalars.

#include "kernels/cpu/vec16f.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace cortado::kernels {
namespace {

constexpr float kNaN = NAN;

/// Lanes of different sign and magnitude.
Lanes some_lanes(float scale) {
  Lanes lanes;
  for (int i = 0; i < kLanes; ++i) lanes[i] = scale * float(i % 5 - 2) + float(i) / 16;
  return lanes;
}

template <typename Vec>
class VectorOf : public ::testing::Test {
 protected:
  /// Checks that got[i] equals expected(a[i], b[i]) bitwise in every lane.
  template <typename Expected>
  void expect_lanes(const Vec& got, const Lanes& a, const Lanes& b, const Expected& expected) {
    Lanes lanes;
    store(lanes.of, got);
    for (int i = 0; i < kLanes; ++i) {
      const float want = expected(a[i], b[i]);
      EXPECT_EQ(std::memcmp(&lanes[i], &want, sizeof want), 0) << "lane " << i << ": " << lanes[i] << ", not " << want;
    }
  }
};
using Kinds = ::testing::Types<Vec16f, Halves<Halves<Vec4f>>>;
TYPED_TEST_SUITE(VectorOf, Kinds);

TYPED_TEST(VectorOf, ArithmeticIsPerLane) {
  const Lanes a = some_lanes(3), b = some_lanes(-1.5f);
  const TypeParam x = load<TypeParam>(a.of), y = load<TypeParam>(b.of);
  this->expect_lanes(x + y, a, b, [](float p, float q) { return p + q; });
  this->expect_lanes(x - y, a, b, [](float p, float q) { return p - q; });
  this->expect_lanes(x * y, a, b, [](float p, float q) { return p * q; });
  this->expect_lanes(1.5f / (2.0f - x), a, b, [](float p, float) { return 1.5f / (2.0f - p); });
  this->expect_lanes(-x, a, b, [](float p, float) { return -p; });
  this->expect_lanes(square_root(x * x), a, b, [](float p, float) { return std::sqrt(p * p); });
  TypeParam z = x;
  z += y, z *= 2.0f * y, z -= x;
  this->expect_lanes(z, a, b, [](float p, float q) { return (p + q) * (2.0f * q) - p; });
}

TYPED_TEST(VectorOf, SelectIsPerLane) {
  Lanes a = some_lanes(1), b = some_lanes(-2);
  a[3] = kNaN, b[7] = kNaN, a[9] = b[9] = 0.25f;
  const TypeParam x = load<TypeParam>(a.of), y = load<TypeParam>(b.of);
  this->expect_lanes(select(x > y, x, y), a, b, [](float p, float q) { return p > q ? p : q; });
  this->expect_lanes(select((x < y) & (x > -1.0f), x, y), a, b,
                     [](float p, float q) { return p < q && p > -1 ? p : q; });
  this->expect_lanes(larger(x, y), a, b, [](float p, float q) { return p > q ? p : q; });
  this->expect_lanes(smaller(x, y), a, b, [](float p, float q) { return p > q ? q : p; });
}

TYPED_TEST(VectorOf, ExponentialIsPerLane) {
  for (float scale : {0.01f, 1.0f, 20.0f, 43.5f}) {
    const Lanes a = some_lanes(scale);
    Lanes got;
    store(got.of, exponential(load<TypeParam>(a.of)));
    for (int i = 0; i < kLanes; ++i) EXPECT_NEAR(got[i], std::exp(double(a[i])), 3e-7 * std::exp(double(a[i]))) << a[i];
  }
}

TEST(Vec16f, LoadsAndStoresTheFirstLanes) {
  for (int n = 0; n <= kLanes; ++n) {
    std::vector<float> from(size_t(n), 0), to(size_t(kLanes) + 2, -7);
    for (int i = 0; i < n; ++i) from[size_t(i)] = float(i + 1);
    const Vec16f v = load_some(from.data(), n);
    const Lanes lanes = lanes_of(v);
    for (int i = 0; i < kLanes; ++i) EXPECT_EQ(lanes[i], i < n ? float(i + 1) : 0) << n;
    store_some(to.data() + 1, spread(3), n);
    for (int i = -1; i <= kLanes; ++i) EXPECT_EQ(to[size_t(i + 1)], i >= 0 && i < n ? 3 : -7) << n << " " << i;
  }
}

TEST(Vec16f, HasAMaskBitPerLane) {
  const Lanes a = some_lanes(1);
  const Vec16f v = load(a.of);
  const uint16_t bits = bits_between(v, spread(-0.5f), spread(1.25f));
  const Lanes kept = lanes_of(where(bits, v));
  for (int i = 0; i < kLanes; ++i) {
    const bool inside = a[i] > -0.5f && a[i] < 1.25f;
    EXPECT_EQ(bits >> i & 1, inside) << i;
    EXPECT_EQ(kept[i], inside ? a[i] : 0) << i;
  }
}

TEST(Vec16f, SumsAndStreams) {
  alignas(64) float to[kLanes] = {};
  const Lanes a = some_lanes(2);
  stream(to, load(a.of));
  float sum = 0;
  for (int i = 0; i < kLanes; ++i) {
    EXPECT_EQ(to[i], a[i]);
    sum += a[i];
  }
  EXPECT_EQ(sum_of(load(a.of)), sum);
  for (float v : {1e-3f, 0.7f, 3e5f}) EXPECT_NEAR(lanes_of(inverse_root(spread(v)))[11] * std::sqrt(v), 1, 3e-7);
}

}  // namespace
}  // namespace cortado::kernels
