#include "core/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace cortado {
namespace {

/// The nearest of all 65,536 values, by exhaustive search; ties go to the even one.
template <typename T>
float nearest(float value) {
  float best = std::numeric_limits<float>::infinity();
  uint16_t best_bits = 0;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    T candidate;
    candidate.bits = uint16_t(bits);
    const float have = candidate;
    if (!std::isfinite(have) || std::signbit(have) != std::signbit(value)) continue;
    const double distance = std::fabs(double(have) - value), least = std::fabs(double(best) - value);
    if (distance < least || (distance == least && bits % 2 == 0 && best_bits % 2 != 0))
      best = have, best_bits = uint16_t(bits);
  }
  return best;
}

template <typename T>
class SixteenBits : public testing::Test {};
using Types = testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(SixteenBits, Types);

TYPED_TEST(SixteenBits, RoundTripsEveryValue) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    TypeParam value;
    value.bits = uint16_t(bits);
    if (std::isnan(float(value)))
      EXPECT_TRUE(std::isnan(float(TypeParam(float(value))))) << bits;
    else
      EXPECT_EQ(TypeParam(float(value)).bits, bits);
  }
}

TYPED_TEST(SixteenBits, RoundsToTheNearestAndTiesToEven) {
  for (const float value : {1.0f / 3, 0.1f, -2.7182818f, 1000.37f, 1 + 0x1p-11f, 1 + 3 * 0x1p-11f, 1 + 0x1p-8f,
                            1 + 3 * 0x1p-8f, 1e-5f, -3.1e-6f, 0x1.8p-24f, 65000.0f, 0x1p-25f + 0x1p-40f})
    EXPECT_EQ(float(TypeParam(value)), nearest<TypeParam>(value)) << value;
}

TEST(HalfTest, OverflowsToInfinity) {
  EXPECT_EQ(float(Half(65519.99f)), 65504.0f);
  EXPECT_TRUE(std::isinf(float(Half(65520.0f))));
  EXPECT_TRUE(std::isinf(float(Half(std::numeric_limits<float>::max()))));
  EXPECT_TRUE(std::isinf(float(BFloat16(std::numeric_limits<float>::max()))));
}

TEST(HalfTest, SelectsTypesAtRunTime) {
  const auto size = [](DType dtype) { return with_float_type(dtype, [](auto zero) { return sizeof(zero); }); };
  EXPECT_EQ(size(DType::kF32), 4u);
  EXPECT_EQ(size(DType::kF16), 2u);
  EXPECT_EQ(size(DType::kBF16), 2u);
  EXPECT_ANY_THROW(size(DType::kU8));
}

}  // namespace
}  // namespace cortado
