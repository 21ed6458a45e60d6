#include "core/text/text.h"

#include <gtest/gtest.h>

#include "core/round_up.h"

namespace cortado {
namespace {

TEST(Text, LowerCaseChangesOnlyAscii) {
  EXPECT_EQ(lower_case("Weights.NPZ [@`{ \xC3\x84"), "weights.npz [@`{ \xC3\x84");
}

TEST(Text, ListsHaveSeparators) {
  EXPECT_EQ(list_text({}), "");
  EXPECT_EQ(list_text({"a"}), "a");
  EXPECT_EQ(list_text({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(list_text({"a", "b"}, " "), "a b");
}

TEST(Text, MebibytesAreRoundedUp) {
  EXPECT_EQ(mebibytes(0), "0 MiB");
  EXPECT_EQ(mebibytes(1), "1 MiB");
  EXPECT_EQ(mebibytes(3 << 20), "3 MiB");
  EXPECT_EQ(mebibytes(int64_t(5) << 40), "5242880 MiB");
}

TEST(Text, LayersHaveTheirTypes) {
  EXPECT_EQ(layer_text("a"), "layer 'a'");
  EXPECT_EQ(layer_text("a", "ReLU"), "layer 'a' (ReLU)");
}

TEST(RoundUp, ReturnsMultiples) {
  EXPECT_EQ(round_up(0, 16), 0);
  EXPECT_EQ(round_up(1, 16), 16);
  EXPECT_EQ(round_up(16, 16), 16);
  EXPECT_EQ(round_up<size_t>(17, 16), 32u);
}

}  // namespace
}  // namespace cortado
