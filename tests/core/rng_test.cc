#include "core/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace cortado {
namespace {

struct Known {
  uint64_t key, high, low;
  uint32_t words[4];
};

// The known answers published by the authors of Philox with Random123 (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, HasThePublishedAnswers) {
  const Known answers[] = {
      {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {~uint64_t(0), ~uint64_t(0), ~uint64_t(0), {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Known& known : answers) {
    const Philox::Words words = Philox(known.key)(known.high, known.low);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(words.v[i], known.words[i]) << std::hex << known.key << " word " << i;
  }
}

TEST(RandomStream, IsAFunctionOfItsKey) {
  RandomStream a(7), b(7), c(8);
  bool differ = false;
  for (int i = 0; i < 100; ++i) {
    const uint32_t word = a.next_word();
    EXPECT_EQ(word, b.next_word());
    differ |= word != c.next_word();
  }
  EXPECT_TRUE(differ);
}

TEST(RandomStream, UniformHasTheRightMoments) {
  RandomStream stream(1);
  constexpr int kDraws = 100'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const float x = stream.uniform();
    ASSERT_GE(x, 0.0f);
    ASSERT_LT(x, 1.0f);
    sum += x;
    squares += double(x) * x;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 5e-3);
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 5e-3);
}

TEST(RandomStream, NormalHasTheRightMoments) {
  RandomStream stream(2);
  constexpr int kDraws = 100'000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.normal();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
  EXPECT_NEAR(fourth / kDraws, 3, 0.15);
}

TEST(RandomStream, BelowReachesEveryValueEvenly) {
  RandomStream stream(3);
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i) ++counts[stream.below(7)];
  for (int count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_EQ(stream.below(1), 0u);
  const uint64_t large = (uint64_t(1) << 63) + 1;
  for (int i = 0; i < 100; ++i) EXPECT_LT(stream.below(large), large);
}

TEST(MixKey, DependsOnBothArguments) {
  EXPECT_NE(mix_key(1, 2), mix_key(2, 1));
  EXPECT_NE(mix_key(0, 0), mix_key(0, 1));
  EXPECT_NE(mix_key(0, 0), mix_key(1, 0));
}

}  // namespace
}  // namespace cortado
