#include "core/loops/pack.h"

#include <gtest/gtest.h>

#include "core/half.h"

namespace cortado {
namespace {

template <typename T>
void check() {
  constexpr int kWidth = Pack<T>::kWidth;
  alignas(16) T from[2 * kWidth], to[3 * kWidth];
  for (int k = 0; k < 2 * kWidth; ++k) from[k] = T(float(k) + 0.3f);
  for (T& value : to) value = T(-1.0f);
  Pack<T> pack = load_pack(from + kWidth);
  for (int k = 0; k < kWidth; ++k) {
    EXPECT_EQ(pack.v[k], float(from[kWidth + k]));
    pack.v[k] += 0.01f;
  }
  store_pack(to + kWidth, pack);
  for (int k = 0; k < kWidth; ++k) {
    EXPECT_EQ(float(to[k]), -1.0f);
    EXPECT_EQ(float(to[kWidth + k]), float(T(pack.v[k]))) << "rounded once";
    EXPECT_EQ(float(to[2 * kWidth + k]), -1.0f);
  }
  EXPECT_TRUE(starts_pack(from + kWidth));
  EXPECT_FALSE(starts_pack(from + 1));
}

TEST(Pack, MovesSixteenBytesOfAnyType) {
  check<float>();
  check<Half>();
  check<BFloat16>();
  EXPECT_EQ(Pack<float>::kWidth, 4);
  EXPECT_EQ(Pack<Half>::kWidth, 8);
}

}  // namespace
}  // namespace cortado
