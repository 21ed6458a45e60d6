#include "graph/place_memory.h"

#include <gtest/gtest.h>

#include "core/rng.h"

namespace cortado::graph {
namespace {

void expect_apart(const std::vector<Lifetime>& lives, const CropBox& placed) {
  for (size_t a = 0; a < lives.size(); ++a) {
    EXPECT_EQ(placed.offsets[a] % 64, 0);
    EXPECT_LE(placed.offsets[a] + lives[a].bytes, placed.bytes);
    for (size_t b = a + 1; b < lives.size(); ++b) {
      const bool same_time = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
      const bool same_place = placed.offsets[a] < placed.offsets[b] + lives[b].bytes &&
                              placed.offsets[b] < placed.offsets[a] + lives[a].bytes;
      EXPECT_FALSE(same_time && same_place && lives[a].bytes > 0 && lives[b].bytes > 0) << a << " and " << b;
    }
  }
}

TEST(PlaceMemory, what_is_never_needed_together_shares_a_place) {
  const CropBox placed = place_memory({{100, 0, 1}, {100, 2, 3}, {100, 1, 2}});
  EXPECT_EQ(placed.offsets[0], placed.offsets[1]);
  EXPECT_NE(placed.offsets[0], placed.offsets[2]);
  EXPECT_EQ(placed.bytes, 256);
}

TEST(PlaceMemory, nothing_overlaps_in_random_programs) {
  RandomStream random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> lives;
    int64_t most = 0;
    for (int i = 0; i < 60; ++i) {
      const int first = int(random.below(40));
      lives.push_back({int64_t(random.below(5000)), first, first + int(random.below(20))});
      most += lives.back().bytes + 64;
    }
    const CropBox placed = place_memory(lives);
    expect_apart(lives, placed);
    EXPECT_GE(placed.bytes, placed.live);
    EXPECT_LT(placed.bytes, most);
  }
}

TEST(PlaceMemory, a_chain_needs_two_neighbours_at_a_time) {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 100; ++i) chain.push_back({1024, i, i + 1});
  EXPECT_EQ(place_memory(chain).bytes, 2048);
  EXPECT_EQ(place_memory(chain).live, 2048);
}

}  // namespace
}  // namespace cortado::graph
