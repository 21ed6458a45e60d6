#include <gtest/gtest.h>

#include <cmath>

#include "layers/common/detection/region_rows.h"
#include "layers/roles.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

using Rows = std::vector<std::vector<double>>;

std::string layer(const std::string& options, const std::string& rest = "") {
  const std::string any_size = options.find("min_size") == std::string::npos ? " min_size: 0" : "";
  return "type: 'BoxOutput' top: 'rois' top: 'scored' box_output_param { " + options + any_size + " } " + rest;
}

const std::string kTemplate = "field_w: 8 field_h: 4 downsample_rate: 10 ";

/// The rows of R x 6; those of R x 5 must be their prefixes.
Rows run(const std::string& text, const Arrays& x) {
  LayerRun run(text, x);
  run.forward();
  const int64_t live = dynamic_cast<DynamicRows&>(run.layer()).current_shapes()[1][0];
  const Array &rois = run.y()[0], &scored = run.y()[1];
  Rows rows;
  for (int64_t r = 0; r < scored.shape[0]; ++r) {
    const auto begin = scored.values.begin() + 6 * r;
    if (r < live) rows.emplace_back(begin, begin + 6);
    if (live > 1 || begin[5] != 0) {
      for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(rois[size_t(5 * r + i)], begin[i]);
    }
    if (r >= live) {
      for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(begin[i], 0);
    }
  }
  return rows;
}

/// A branch of one image, background, two classes and boxes; all scores -9.
Array branch(int64_t height, int64_t width) {
  Array x({1, 7, height, width}, 0.0);
  const size_t places = size_t(height * width);
  for (size_t p = 0; p < 3 * places; ++p) x[p] = p < places ? 9 : 0;
  return x;
}

/// Sets one of the seven numbers of a position.
void set(Array& x, size_t number, size_t place, double value) { x[number * size_t(x.shape.count(2)) + place] = value; }

void expect_rows(const Rows& got, const Rows& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t r = 0; r < got.size(); ++r)
    for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(got[r][i], expected[r][i], 1e-4) << r << " " << i;
}

TEST(BoxOutput, DecodesBoxesFromTemplates) {
  Array x = branch(2, 3);
  set(x, 1, 4, 12);  // position (1, 1), whose centre is (15, 15): 3 above the background
  set(x, 2, 4, 11);
  set(x, 3, 4, 0.25), set(x, 4, 4, -0.5), set(x, 5, 4, std::log(0.5)), set(x, 6, 4, std::log(2));
  expect_rows(run(layer(kTemplate), {x}), {{0, 15, 9, 19, 17, 3}});
}

TEST(BoxOutput, LimitsNumbersOfBoxesAfterTheirScale) {
  Array x = branch(2, 3);
  set(x, 2, 4, 10);
  set(x, 3, 4, 4), set(x, 4, 4, -9), set(x, 5, 4, 99), set(x, 6, 4, -99);
  // The centre moves by at most a quarter of 8 and of 4; 3 times as wide, a third as high.
  const Rows expected = {{0, 5, 14 - 2 / 3., 29, 14 + 2 / 3., 1}};
  expect_rows(run(layer(kTemplate + "field_whr: 3 field_xyr: 4"), {x}), expected);
  set(x, 3, 4, 1), set(x, 5, 4, std::log(2));
  expect_rows(run(layer(kTemplate + "field_whr: 3 field_xyr: 4",
                        "bbox_reg_param { bbox_mean: 0.125 bbox_mean: 0 bbox_mean: 0 bbox_mean: 0 bbox_std: 0.0625 "
                        "bbox_std: 1 bbox_std: 0.5 bbox_std: 1 }"),
                  {x}),
              {{0, 16.5 - 4 * std::sqrt(2), 14 - 2 / 3., 16.5 + 4 * std::sqrt(2), 14 + 2 / 3., 1}});
}

TEST(BoxOutput, MovesBoxesIntoTheImageAndDropsSmallOnes) {
  Array x = branch(1, 2);
  set(x, 1, 0, 12), set(x, 1, 1, 11);
  set(x, 5, 0, std::log(2)), set(x, 5, 1, std::log(2));  // 16 x 4 at (5, 5) and (15, 5), in an image of 20 x 10
  expect_rows(run(layer(kTemplate), {x}), {{0, 0, 3, 16, 7, 3}, {0, 7, 3, 20, 7, 2}});
  expect_rows(run(layer(kTemplate + "min_size: 4"), {x}), {{0, 0, 3, 16, 7, 3}, {0, 7, 3, 20, 7, 2}});
  expect_rows(run(layer("field_w: 8 field_h: 3 downsample_rate: 10 min_size: 4"), {x}), {{0, 0, 0, 0, 0, 0}});
}

TEST(RegionLimits, BoundTheRows) {
  EXPECT_EQ((RegionLimits{}.most(2, 30)), 60);
  EXPECT_EQ((RegionLimits{.rule = {.most = 1}, .considered = -1}.most(2, 30)), 2);
  EXPECT_EQ((RegionLimits{.rule = {.most = 40}, .considered = 7}.most(2, 30)), 14);
  EXPECT_EQ((RegionLimits{.rule = {}, .considered = 40}.most(2, 0)), 1);
}

TEST(BoxOutput, SuppressesOverlapsOfAllBranches) {
  Array a = branch(1, 1), b = branch(1, 2);
  set(a, 1, 0, 10), set(b, 1, 0, 12), set(b, 1, 1, 11);
  // From (2, 2) to (18, 18), and from (1, 0) to (9, 10) and (11, 0) to (19, 10): 56 of the 80 pixels of each of these
  // lie in the first, which has 256.
  const std::string fields = "field_w: 16 field_w: 8 field_h: 16 field_h: 16 downsample_rate: 20 downsample_rate: 10 ";
  const auto kept = [&](const std::string& options) { return run(layer(fields + options), {a, b}).size(); };
  EXPECT_EQ(kept("iou_thr: 0.9"), 3u);
  EXPECT_EQ(kept("iou_thr: 0.15"), 2u);
  EXPECT_EQ(kept("iou_thr: 0.6 nms_type: 'IOU'"), 3u);
  EXPECT_EQ(kept("iou_thr: 0.6 nms_type: 'IOMU'"), 2u);
  EXPECT_EQ(kept("iou_thr: 0.9 max_nms_num: 2"), 2u);
  EXPECT_EQ(kept("iou_thr: 0.9 max_post_nms_num: 1"), 1u);
  EXPECT_EQ(kept("iou_thr: 0.9 max_nms_num: 0"), 3u);
  EXPECT_EQ(run(layer(fields + "fg_thr: 2.5"), {a, b}).size(), 1u);
}

TEST(BoxOutput, ProcessesImagesSeparately) {
  Array one = branch(1, 1), x({2, 7, 1, 1}, 0.0);
  set(one, 1, 0, 12);
  for (size_t i = 0; i < 7; ++i) x[i] = one[i], x[7 + i] = i == 1 ? 11 : one[i];
  expect_rows(run(layer(kTemplate), {x}), {{0, 1, 3, 9, 7, 3}, {1, 1, 3, 9, 7, 2}});
}

TEST(BoxOutput, HasOneRegionWithoutDetections) {
  Array x = branch(2, 3);
  set(x, 1, 0, NAN), set(x, 1, 1, 12), set(x, 3, 1, NAN);
  LayerRun run(layer(kTemplate), {x});
  run.forward();
  EXPECT_EQ(dynamic_cast<DynamicRows&>(run.layer()).current_shapes()[0], (Shape{1, 5}));
  EXPECT_EQ(std::vector<double>(run.y()[0].values.begin(), run.y()[0].values.begin() + 5),
            (std::vector<double>{0, 1, 1, 10, 10}));
}

TEST(BoxOutput, ReportsErrors) {
  const std::vector<Shape> x = {{1, 7, 2, 3}};
  const std::string field = "box_output_param.";
  expect_field_error(layer(kTemplate + "field_h: 4"), x, field + "field_h", "it is set 2 times, but field_w 1 time");
  expect_field_error(layer("field_w: 8 field_h: 4"), x, field + "downsample_rate", "it is set 0 times");
  expect_field_error(layer("field_w: 0 field_h: 4 downsample_rate: 2"), x, field + "field_w", "0");
  expect_field_error(layer(kTemplate + "field_whr: 0.5"), x, field + "field_whr", "0.5, but must be 1 or more");
  expect_field_error(layer(kTemplate + "field_xyr: 0"), x, field + "field_xyr", "above 0");
  expect_field_error(layer(kTemplate + "nms_type: 'GIOU'"), x, field + "nms_type", "GIOU");
  expect_field_error(layer(kTemplate + "iou_thr: nan"), x, field + "iou_thr", "NaN");
  expect_field_error(layer(""), x, "bottom", "the layer has 1 bottom, but field_w is set 0 times");
  expect_field_error(layer(kTemplate), {{1, 5, 2, 3}}, "bottom[0]", "1x5x2x3");
  expect_field_error(layer(kTemplate + kTemplate), {{1, 7, 2, 3}, {2, 7, 2, 3}}, "bottom[1]", "2x7x2x3");
}

}  // namespace
}  // namespace cortado::harness
