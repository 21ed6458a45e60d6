#include <gtest/gtest.h>

#include "tools/report/detected_images.h"
#include "tools/report/foremost.h"

namespace cortado::tools {
namespace {

TEST(Foremost, KeepsTheHighestRanksInOrder) {
  Foremost<int> kept(3);
  for (const auto& [rank, item] : {std::pair(0.5, 1), std::pair(0.9, 2), std::pair(0.1, 3), std::pair(0.9, 4)})
    if (kept.wants(rank)) kept.add(rank, item);
  std::vector<int> items;
  for (const auto& [rank, item] : kept.items()) items.push_back(item);
  EXPECT_EQ(items, (std::vector<int>{2, 4, 1}));
  EXPECT_FALSE(kept.wants(0.5));
  EXPECT_TRUE(kept.wants(0.6));
}

TEST(MatchObjects, FindsEachObjectOnceByTheHighestScore) {
  std::vector<TrueObject> objects = {{1, {0, 0, 0.5F, 0.5F}, false}, {2, {0.5F, 0.5F, 1, 1}, false}};
  const std::vector<Found> found = {{1, 0.9F, {0, 0, 0.5F, 0.45F}},
                                    {1, 0.8F, {0, 0, 0.5F, 0.5F}},   // the object is found already
                                    {1, 0.7F, {0.5F, 0.5F, 1, 1}},   // of another class
                                    {2, 0.6F, {0, 0, 0.6F, 0.6F}}};  // overlaps too little
  EXPECT_EQ(match_objects(found, 0.5F, objects), (std::vector<bool>{true, false, false, false}));
  EXPECT_TRUE(objects[0].is_found);
  EXPECT_FALSE(objects[1].is_found);
}

}  // namespace
}  // namespace cortado::tools
