#include "core/loops/divisor.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "core/rng.h"

namespace cortado {
namespace {

void expect_same(int64_t n, int64_t d) {
  const Divisor divisor(d);
  ASSERT_EQ(divisor.of(n), n / d) << n << " / " << d;
  ASSERT_EQ(divisor.rest(n), n % d) << n << " % " << d;
}

TEST(Divisor, EqualsDivision) {
  constexpr int64_t kMax = INT32_MAX;
  for (int64_t d = 1; d < 3000; ++d)
    for (const int64_t n : {int64_t(0), int64_t(1), d - 1, d, d + 1, kMax / d * d - 1, kMax / d * d, kMax})
      expect_same(n, d);
  for (const int64_t d : {kMax - 1, kMax, kMax + 1, int64_t(1) << 40})
    for (const int64_t n : {int64_t(0), d - 1, d, d + 1, kMax, kMax + 1, 3 * d + 5, INT64_MAX}) expect_same(n, d);
}

TEST(Divisor, DividesRandomNumbersOfEverySize) {
  RandomStream random(7);
  for (int k = 0; k < 200000; ++k) {
    const int64_t d =
        1 + (int64_t(random.next_word()) << 20 | random.next_word() >> 12) % (int64_t(1) << random.below(50));
    expect_same((int64_t(random.next_word()) << 20) >> random.below(52), d);
  }
}

TEST(Divisor, ValuesBelowOneCountAsOne) {
  EXPECT_EQ(Divisor(0).of(5), 5);
  EXPECT_EQ(Divisor(0).value(), 1);
}

}  // namespace
}  // namespace cortado
