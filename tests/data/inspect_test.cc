#include "data/formats/datum.h"
#include "data/inspect/class_names.h"
#include "data/inspect/dataset_stats.h"
#include "data/lmdb/lmdb_writer.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

Sample view_of(const std::string& pixels, int channels, int height, int width) {
  return {channels, height, width, reinterpret_cast<const uint8_t*>(pixels.data()), nullptr, false};
}

TEST(PixelDigest, DistinguishesImages) {
  std::string pixels(3 * 5 * 7, 'a');
  const uint64_t digest = pixel_digest(view_of(pixels, 3, 5, 7));
  EXPECT_EQ(pixel_digest(view_of(pixels, 3, 5, 7)), digest);
  EXPECT_NE(pixel_digest(view_of(pixels, 3, 7, 5)), digest);
  for (size_t i = 0; i < pixels.size(); ++i) {
    std::string other = pixels;
    other[i] ^= 1;
    EXPECT_NE(pixel_digest(view_of(other, 3, 5, 7)), digest) << i;
  }
}

TEST(NearBlack, AllowsAFewBrightPixels) {
  std::string pixels(1 * 50 * 50, char(3));
  EXPECT_TRUE(is_near_black(view_of(pixels, 1, 50, 50)));
  pixels[0] = pixels[1] = char(255);
  EXPECT_TRUE(is_near_black(view_of(pixels, 1, 50, 50)));
  pixels[2] = char(255);  // more than a thousandth
  EXPECT_FALSE(is_near_black(view_of(pixels, 1, 50, 50)));
}

TEST(DatasetStats, CountsRecords) {
  const Folder folder;
  const std::string path = folder / "set";
  LmdbWriter writer(path);
  const auto put = [&](const std::string& key, char level, int side, int32_t label) {
    writer.put(key, make_datum(1, side, side, std::string(size_t(side * side), level), label));
  };
  put("a", 100, 4, 0);
  put("b", 102, 4, 2);
  put("c", 100, 4, 1);  // a duplicate of a with another label
  put("d", 0, 4, 0);    // black
  put("e", 90, 8, 0);
  writer.put("f", "no datum");
  writer.commit();

  const DatasetStats stats = dataset_stats(path);
  EXPECT_EQ(stats.records, 6);
  EXPECT_EQ(stats.decoded, 5);
  EXPECT_EQ(stats.broken, 1);
  ASSERT_EQ(stats.listed_broken.size(), 1U);
  EXPECT_EQ(stats.listed_broken[0].key, "f");
  EXPECT_EQ(stats.per_label, (std::map<int32_t, int64_t>{{0, 3}, {1, 1}, {2, 1}}));
  EXPECT_EQ(stats.per_size, (std::map<std::string, int64_t>{{"1x4x4", 4}, {"1x8x8", 1}}));
  EXPECT_EQ(stats.short_side.least(), 4);
  EXPECT_EQ(stats.short_side.most(), 8);
  EXPECT_EQ(stats.odd.doubles, 1);
  EXPECT_EQ(stats.odd.contradictions, 1);
  EXPECT_EQ(stats.odd.listed_doubles[0].first, "a");
  EXPECT_EQ(stats.odd.listed_dark, std::vector<std::string>{"d"});
  // Images of 100, 102, 100, 0 and 90; the last one's larger size does not matter.
  const double mean = (100 + 102 + 100 + 0 + 90) / 5.0;
  const double squares = (100.0 * 100 + 102 * 102 + 100 * 100 + 90 * 90) / 5;
  ASSERT_EQ(stats.mean.size(), 1U);
  EXPECT_NEAR(stats.mean[0], mean, 1e-9);
  EXPECT_NEAR(stats.deviation[0], std::sqrt(squares - mean * mean), 1e-9);
}

TEST(OddImages, SetsAreCompared) {
  OddImageFinder finder;
  const std::vector<uint8_t> red(12, 200), blue(12, 90);
  const Sample first{3, 2, 2, red.data()}, second{3, 2, 2, blue.data()};
  finder.look(first, "a", 0);
  EXPECT_EQ(finder.take().doubles, 0);
  finder.look(second, "b", 0, 1);
  finder.look(first, "c", 1, 1);   // leaks
  finder.look(second, "d", 0, 1);  // a duplicate in its own set
  const OddImages found = finder.take();
  EXPECT_EQ(found.doubles, 2);
  EXPECT_EQ(found.leaks, 1);
  EXPECT_EQ(found.contradictions, 1);
  ASSERT_EQ(found.listed_doubles.size(), 2U);
  EXPECT_EQ(found.listed_doubles[0].first, "a");
  EXPECT_EQ(found.listed_doubles[0].set, 1);
  EXPECT_EQ(found.listed_doubles[0].first_set, 0);
  EXPECT_EQ(found.listed_doubles[1].first_set, 1);
  for (int i = 0; i < 100; ++i) finder.look(first, "again", 0, 0);
  finder.look(first, "leak", 0, 1);
  EXPECT_EQ(finder.take().listed_doubles.size(), size_t(OddImages::kMaxListed) + 1) << "leaks have their own places";
}

TEST(DatasetStats, SamplesOfEachLabel) {
  const Folder folder;
  LmdbWriter writer(folder / "set");
  for (int i = 0; i < 30; ++i)
    writer.put("0000000" + std::string(1, char(0x41 + i)), make_datum(1, 2, 2, std::string(4, char(i)), i % 2));
  writer.commit();
  const DatasetStats stats = dataset_stats(folder / "set");
  ASSERT_EQ(stats.samples.size(), 2U);
  EXPECT_EQ(stats.samples.at(1).size(), DatasetStats::kMaxSamples);
  EXPECT_EQ(stats.samples.at(1)[1], "0000000D");
}

TEST(DatasetStats, OneUnusualImageHasLittleInfluence) {
  const Folder folder;
  LmdbWriter writer(folder / "set");
  for (int i = 0; i < 20; ++i)
    writer.put(std::to_string(10 + i), make_datum(1, 30, 40, std::string(1200, char(100)), 0));
  writer.put("dark and large", make_datum(1, 2000, 2000, std::string(4000000, char(10)), 0));
  writer.put("tiny", make_datum(1, 1, 1, std::string(1, char(100)), 0));
  writer.commit();
  const DatasetStats stats = dataset_stats(folder / "set");
  EXPECT_EQ(stats.short_side.typical(), 30);
  EXPECT_EQ(stats.width.median(), 40);
  EXPECT_NEAR(stats.mean[0], (21 * 100 + 10) / 22.0, 1e-9);
}

TEST(DatasetStats, LargeImagesAreReducedFirst) {
  const Folder folder;
  LmdbWriter writer(folder / "set");
  std::string checks(1024 * 1024, char(0));
  for (size_t i = 0; i < checks.size(); ++i) checks[i] = char((i + i / 1024) % 2 * 200);
  writer.put("a", make_datum(1, 1024, 1024, checks, 0));
  writer.commit();
  const DatasetStats stats = dataset_stats(folder / "set");
  EXPECT_NEAR(stats.mean[0], 100, 1e-9);
  EXPECT_NEAR(stats.deviation[0], 0, 1e-3);
}

TEST(DatasetStats, MayDecodeAPart) {
  const Folder folder;
  LmdbWriter writer(folder / "set");
  for (int i = 0; i < 100; ++i)
    writer.put(std::to_string(100 + i), make_datum(1, 2, 2, std::string(4, char(i)), i % 3));
  writer.commit();
  const DatasetStats stats = dataset_stats(folder / "set", {.most_decoded = 7});
  EXPECT_EQ(stats.records, 100);
  EXPECT_EQ(stats.decoded, 7);
  EXPECT_EQ(stats.per_size.at("1x2x2"), 100);
  EXPECT_EQ(dataset_stats(folder / "set", {.most_pixels = 12}).decoded, 3);
  EXPECT_EQ(stats.per_label.at(0), 34);
}

}  // namespace

}  // namespace cortado::data::testing
