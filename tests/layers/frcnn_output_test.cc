#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "layers/roles.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

using Rows = std::vector<std::vector<double>>;

std::string layer(const std::string& options, const std::string& reg = "cls_aware: false") {
  return "type: 'FrcnnOutput' frcnn_output_param { " + options + " } bbox_reg_param { " + reg + " }";
}

const Array kImageSize({1, 2}, {40, 50});

Rows run(const std::string& text, const Arrays& x) {
  LayerRun run(text, x);
  run.forward();
  const size_t live = size_t(dynamic_cast<DynamicRows&>(run.layer()).current_shapes()[0][0]);
  Rows rows;
  for (size_t r = 0; r < size_t(run.y()[0].shape[0]); ++r) {
    const auto begin = run.y()[0].values.begin() + int64_t(7 * r);
    if (r < live) rows.emplace_back(begin, begin + 7);
    for (size_t i = 0; i < 7 && r >= live; ++i) EXPECT_EQ(begin[int64_t(i)], 0);
  }
  EXPECT_EQ(rows[0], (std::vector<double>{0, -1, -1, -1, -1, -1, -1}));
  rows.erase(rows.begin());
  return rows;
}

void expect_rows(const Rows& got, const Rows& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t r = 0; r < got.size(); ++r)
    for (size_t i = 0; i < 7; ++i) EXPECT_NEAR(got[r][i], expected[r][i], 1e-4) << r << " " << i;
}

/// Offsets of objects after four of the background.
Array offsets(const Rows& rows) {
  Array array({int64_t(rows.size()), 8}, 9.0);
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t i = 0; i < 4; ++i) array[8 * r + 4 + i] = rows[r][i];
  return array;
}

TEST(FrcnnOutput, AppliesOffsetsAndClips) {
  // 10 x 20 pixels, moved by half its width and doubled in height.
  const Arrays x = {Array({1, 3}, {0.1, 0.2, 0.7}), offsets({{0.5, 0, 0, std::log(2)}}),
                    Array({1, 5}, {0, 10, 10, 19, 29}), kImageSize};
  expect_rows(run(layer("conf_thr: 0.5"), x), {{0, 15, 0, 24, 39, 2, 0.7}});
  expect_rows(run(layer("conf_thr: 0.1"), x), {{0, 15, 0, 24, 39, 1, 0.2}, {0, 15, 0, 24, 39, 2, 0.7}});
  Arrays far = x;
  far[1] = offsets({{0, 0, std::log(20), std::log(20)}});
  expect_rows(run(layer("conf_thr: 0.5"), far), {{0, 0, 0, 50, 40, 2, 0.7}});
  far[1][4] = NAN;
  expect_rows(run(layer("conf_thr: 0.5"), far), {});
}

TEST(FrcnnOutput, HasBoxesOfEachClass) {
  const Arrays x = {Array({1, 3}, {0.1, 0.3, 0.6}), Array({1, 12}, {9, 9, 9, 9, 1, 0, 0, 0, 0, 1, std::log(2) / 2, 0}),
                    Array({1, 6}, {0, 10, 10, 19, 29, 0.9}), kImageSize};
  expect_rows(run(layer("",
                        "bbox_mean: 0.5 bbox_mean: 0 bbox_mean: 0 bbox_mean: 0 bbox_std: 0.5 bbox_std: 1 "
                        "bbox_std: 2 bbox_std: 1"),
                  x),
              {{0, 20, 10, 29, 29, 1, 0.3}, {0, 10, 30, 29, 40, 2, 0.6}});
}

TEST(FrcnnOutput, SuppressesOverlapsOfAClass) {
  Arrays x = {Array({3, 3}, {0, 0.5, 0.4, 0, 0.9, 0, 0, 0.7, 0.6}), Array({3, 8}, 0.0),
              Array({3, 5}, {0, 0, 0, 9, 9, 0, 2, 0, 11, 9, 0, 30, 0, 33, 9}), kImageSize};
  // 8 x 10 of 10 x 10 pixels are common to the first two.
  const Rows all = {{0, 2, 0, 11, 9, 1, 0.9},
                    {0, 30, 0, 33, 9, 1, 0.7},
                    {0, 0, 0, 9, 9, 1, 0.5},
                    {0, 30, 0, 33, 9, 2, 0.6},
                    {0, 0, 0, 9, 9, 2, 0.4}};
  const std::string options = "conf_thr: 0.1 ";
  expect_rows(run(layer(options + "iou_thr: 0.7"), x), all);
  const Rows fewer = {all[0], all[1], all[3], all[4]};
  expect_rows(run(layer(options + "iou_thr: 0.6"), x), fewer);
  expect_rows(run(layer(options + "iou_thr: 0.7 nms_type: 'IOMU'"), x), fewer);
  expect_rows(run(layer(options + "iou_thr: 0.7 max_det_num: 3"), x), {all[0], all[1], all[3]});
}

TEST(FrcnnOutput, RejectsRegionsOfOtherImages) {
  Arrays x = {Array({2, 2}, 0.5), Array({2, 8}, 0.0), Array({2, 5}, {1, 0, 0, 9, 9, 0, 20, 20, 29, 29}), kImageSize};
  LayerRun run(layer(""), x);
  EXPECT_THROW(run.forward(), Error);
}

TEST(FrcnnOutput, ReportsErrors) {
  const std::vector<Shape> x = {{6, 3}, {6, 8}, {6, 5}, {1, 2}};
  expect_field_error(layer("nms_type: 'GIOU'"), x, "frcnn_output_param.nms_type", "GIOU");
  expect_field_error(layer("conf_thr: nan"), x, "frcnn_output_param.conf_thr", "NaN");
  expect_field_error(layer(""), {{6, 1}, x[1], x[2], x[3]}, "bottom[0]", "R x K");
  expect_field_error(layer("", ""), x, "bottom[1]", "must be 6 x 12");
  expect_field_error(layer(""), {x[0], x[1], {5, 5}, x[3]}, "bottom[2]", "6 x 5 or 6 x 6");
  expect_field_error(layer(""), {x[0], x[1], x[2], {2, 2}}, "bottom[3]", "1 x 2");
  expect_field_error(layer("", "bbox_mean: 0"), x, "bbox_reg_param.bbox_mean", "1 time");
}

}  // namespace
}  // namespace cortado::harness
