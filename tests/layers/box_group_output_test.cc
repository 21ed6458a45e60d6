#include <gtest/gtest.h>

#include <cmath>

#include "layers/roles.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

using Rows = std::vector<std::vector<double>>;

const std::string kTwo = "box_group_param { field_w: 8 field_w: 20 field_h: 4 field_h: 10 stride: 10 } ";

std::string layer(const std::string& options, const std::string& rest = "") {
  const std::string any_size = options.find("min_size") == std::string::npos ? " min_size: 0" : "";
  return "type: 'BoxGroupOutput' top: 'rois' top: 'scored' box_group_output_param { " + options + any_size + " } " +
         rest;
}

/// The rows of R x 6; those of R x 5 must be their prefixes.
Rows run(const std::string& text, const Arrays& x) {
  LayerRun run(text, x);
  run.forward();
  const int64_t live = dynamic_cast<DynamicRows&>(run.layer()).current_shapes()[1][0];
  Rows rows;
  for (int64_t r = 0; r < live; ++r) {
    const auto begin = run.y()[1].values.begin() + 6 * r;
    rows.emplace_back(begin, begin + 6);
    for (int64_t i = 0; i < 5 && begin[5] != 0; ++i) EXPECT_EQ(run.y()[0][size_t(5 * r + i)], begin[i]);
  }
  return rows;
}

void expect_rows(const Rows& got, const Rows& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t r = 0; r < got.size(); ++r)
    for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(got[r][i], expected[r][i], 1e-4) << r << " " << i;
}

/// A branch of `images` images, two templates, a background and one class; background everywhere.
Arrays branch(int64_t images, int64_t height, int64_t width) {
  Array scores({2 * images, 2, height, width}, 0.0);
  const size_t places = size_t(height * width);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = i / places % 2 == 0 ? 1 : 0;
  return {scores, Array({2 * images, 4, height, width}, 0.0)};
}

/// Sets the score and the numbers of a position of plane `plane`.
void set(Arrays& x, size_t plane, size_t place, double score, const std::vector<double>& numbers = {0, 0, 0, 0}) {
  const size_t places = size_t(x[0].shape.count(2));
  x[0][2 * plane * places + place] = 1 - score;
  x[0][(2 * plane + 1) * places + place] = score;
  for (size_t i = 0; i < 4; ++i) x[1][(4 * plane + i) * places + place] = numbers[i];
}

TEST(BoxGroupOutput, DecodesBoxesOfEachTemplate) {
  Arrays x = branch(1, 2, 3);
  set(x, 0, 4, 0.75, {0.25, -0.5, std::log(0.5), std::log(2)});  // centre (15, 15), moved to (17, 13): 4 x 8
  set(x, 1, 0, 0.5);                                             // 20 x 10 around (5, 5)
  expect_rows(run(layer(kTwo + "fg_thr: 0.1"), x), {{0, 15, 9, 18, 16, 0.75}, {0, 0, 0, 14, 9, 0.5}});
}

TEST(BoxGroupOutput, LimitsNumbersOfBoxesAfterTheirScale) {
  Arrays x = branch(1, 2, 3);
  set(x, 0, 4, 0.75, {4, -9, 99, -99});
  // The centre moves by at most a quarter of 8 and of 4; 3 times as wide, a third as high.
  expect_rows(run(layer(kTwo + "fg_thr: 0.1 field_whr: 3 field_xyr: 4"), x),
              {{0, 5, 14 - 2 / 3., 28, 13 + 2 / 3., 0.75}});
  set(x, 0, 4, 0.75, {1, 0, std::log(2), 0});
  expect_rows(run(layer(kTwo + "fg_thr: 0.1",
                        "bbox_reg_param { bbox_mean: 0.125 bbox_mean: 0 bbox_mean: 0 bbox_mean: 0 bbox_std: 0.25 "
                        "bbox_std: 1 bbox_std: 2 bbox_std: 1 }"),
                  x),
              {{0, 18 - 8, 13, 25, 16, 0.75}});  // 4 times as wide is limited to 2
}

TEST(BoxGroupOutput, ClipsBoxesToTheImageAndDropsSmallOnes) {
  Arrays x = branch(1, 1, 2);
  set(x, 1, 0, 0.75), set(x, 1, 1, 0.5);  // 20 x 10 around (5, 5) and (15, 5), in an image of 20 x 10
  const Rows both = {{0, 0, 0, 14, 9, 0.75}, {0, 5, 0, 20, 9, 0.5}};
  expect_rows(run(layer(kTwo + "fg_thr: 0.1"), x), both);
  expect_rows(run(layer(kTwo + "fg_thr: 0.1 min_size: 10"), x), both);
  EXPECT_EQ(run(layer(kTwo + "fg_thr: 0.1 min_size: 10.5"), x)[0][5], 0);
}

TEST(BoxGroupOutput, SuppressesOverlapsOfAllBranches) {
  const std::string fields = kTwo + "box_group_param { field_w: 20 field_h: 10 stride: 20 } fg_thr: 0.1 ";
  Arrays x = branch(1, 1, 2);
  set(x, 1, 0, 0.75), set(x, 1, 1, 0.625);
  Array scores({1, 2, 1, 1}, {0.1, 0.9});
  x.insert(x.end(), {scores, Array({1, 4, 1, 1}, 0.0)});  // 20 x 10 around (10, 10): from (0, 5) to (19, 14)
  const auto kept = [&](const std::string& options) { return run(layer(fields + options), x).size(); };
  EXPECT_EQ(kept("iou_thr: 0.9"), 3u);
  // 10 x 10 of 15 x 10 and 16 x 10 are common to the first two; the third has 15 x 5 and 15 x 5 in common with them.
  EXPECT_EQ(kept("iou_thr: 0.45"), 2u);
  EXPECT_EQ(kept("iou_thr: 0.65 nms_type: 'IOU'"), 3u);
  EXPECT_EQ(kept("iou_thr: 0.65 nms_type: 'IOMU'"), 2u);
  EXPECT_EQ(kept("iou_thr: 0.9 max_nms_num: 2"), 2u);
  EXPECT_EQ(kept("iou_thr: 0.9 max_post_nms_num: 1"), 1u);
  EXPECT_EQ(run(layer(kTwo + "box_group_param { field_w: 20 field_h: 10 stride: 20 } fg_thr: 0.7"), x).size(), 2u);
}

TEST(BoxGroupOutput, ProcessesImagesSeparately) {
  Arrays x = branch(2, 1, 1);
  set(x, 0, 0, 0.5), set(x, 2, 0, 0.75);
  expect_rows(run(layer(kTwo + "fg_thr: 0.1"), x), {{0, 1, 3, 8, 6, 0.5}, {1, 1, 3, 8, 6, 0.75}});
}

TEST(BoxGroupOutput, HasOneRegionWithoutDetections) {
  Arrays x = branch(1, 2, 3);
  set(x, 0, 0, NAN), set(x, 0, 1, 0.5, {NAN, 0, 0, 0});
  LayerRun run(layer(kTwo + "fg_thr: 0.1"), x);
  run.forward();
  EXPECT_EQ(dynamic_cast<DynamicRows&>(run.layer()).current_shapes()[0], (Shape{1, 5}));
  EXPECT_EQ(std::vector<double>(run.y()[0].values.begin(), run.y()[0].values.begin() + 5),
            (std::vector<double>{0, 1, 1, 10, 10}));
}

TEST(BoxGroupOutput, ReportsErrors) {
  const std::vector<Shape> x = {{4, 2, 2, 3}, {4, 4, 2, 3}};
  const std::string field = "box_group_output_param.", group = field + "box_group_param[0].";
  const auto expect = [&](const std::string& options, const std::string& at, const std::string& words) {
    expect_field_error(layer(options), x, at, words);
  };
  expect("box_group_param { stride: 2 }", group + "field_w", "missing");
  expect("box_group_param { field_w: 8 stride: 2 }", group + "field_h", "it is set 0 times, but field_w 1 time");
  expect("box_group_param { field_w: 0 field_h: 8 stride: 2 }", group + "field_w", "0");
  expect("box_group_param { field_w: 8 field_h: 8 }", group + "stride", "0, but must be above 0");
  expect(kTwo + "field_whr: 0.5", field + "field_whr", "0.5, but must be 1 or more");
  expect(kTwo + "nms_type: 'GIOU'", field + "nms_type", "GIOU");
  expect(kTwo + "fg_thr: nan", field + "fg_thr", "NaN");
  expect("", "bottom", "the layer has 2 bottoms, but box_group_param is set 0 times");
  expect_field_error(layer(kTwo), {{3, 2, 2, 3}, {3, 4, 2, 3}}, "bottom[0]", "N x 2 images");
  expect_field_error(layer(kTwo), {x[0], {4, 5, 2, 3}}, "bottom[1]", "4x5x2x3");
  expect_field_error(layer(kTwo + kTwo), {x[0], x[1], {2, 2, 2, 3}, {2, 4, 2, 3}}, "bottom[2]", "of 1 images");
}

}  // namespace
}  // namespace cortado::harness
