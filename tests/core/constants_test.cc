// Repeats the check of cmake/constants.cmake at run time: constants whose first half repeats keep their zeros.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cortado {
namespace {

[[gnu::noinline]] std::vector<double> eight() { return std::vector<double>{2, 2, 2, 2, 0, 0, 0, 0}; }
[[gnu::noinline]] void write_four(double* to) {
  const double values[4] = {2, 2, 0, 0};
  std::copy(values, values + 4, to);
}
[[gnu::noinline]] size_t length_of(const char* text) { return std::char_traits<char>::length(text); }

TEST(Constants, WithRepeatedFirstHalfKeepTheirZeros) {
  const std::vector<double> all = eight();
  ASSERT_EQ(all.size(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(all[i], i < 4 ? 2.0 : 0.0) << i;
  double four[4];
  write_four(four);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(four[i], i < 2 ? 2.0 : 0.0) << i;
  const char text[64] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", short_text[32] = "aaaaaaaaaaaaaaaa";
  EXPECT_EQ(length_of(text), 32u);
  EXPECT_EQ(length_of(short_text), 16u);
}

}  // namespace
}  // namespace cortado
