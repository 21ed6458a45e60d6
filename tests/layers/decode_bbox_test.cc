#include <gtest/gtest.h>

#include <cmath>

#include "layers/roles.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kLayer = "type: 'DecodeBBox' ";
const std::string kScaled = kLayer +
                            "bbox_reg_param { bbox_mean: 0.5 bbox_mean: 0 bbox_mean: 0 bbox_mean: 0 "
                            "bbox_std: 0.5 bbox_std: 1 bbox_std: 2 bbox_std: 1 }";

/// Offsets of objects after four of the background.
Array offsets(const std::vector<std::vector<double>>& rows) {
  Array array({int64_t(rows.size()), 8}, 9.0);
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t i = 0; i < 4; ++i) array[8 * r + 4 + i] = rows[r][i];
  return array;
}

const Array kRegions({3, 5}, {0, 10, 20, 19, 39, 1, 0, 0, 9, 9, 1, 5, 5, 4, 4});

TEST(DecodeBBox, MovesRegionsInTests) {
  // 10 x 20 pixels, moved by half its width and doubled in height; an empty region.
  LayerRun run(kLayer, {offsets({{0.5, 0, 0, std::log(2)}, {0, 0, 0, 0}, {0, 0, 0, 0}}), kRegions},
               {.phase = caffe::TEST});
  run.forward();
  const std::vector<double> expected = {0, 15, 10, 24, 49, 1, 0, 0, 9, 9, 1, 5, 5, 4, 4};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(run.y()[0][i], expected[i], 1e-4) << i;
  EXPECT_EQ(dynamic_cast<DynamicRows*>(&run.layer()), nullptr);
}

TEST(DecodeBBox, MultipliesByDeviationsAndAddsMeans) {
  for (const std::string& layer : {kScaled, kLayer + "decode_bbox_param" + kScaled.substr(kScaled.find(" {"))}) {
    LayerRun run(layer, {offsets({{1, 0.5, std::log(2) / 2, 0}}), Array({1, 5}, {2, 0, 0, 9, 9})},
                 {.phase = caffe::TEST});
    run.forward();
    // Centre (5, 5) moves by (1, 0.5) sides to (15, 10); 20 wide, 10 high.
    const std::vector<double> expected = {2, 5, 5, 24, 14};
    for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(run.y()[0][i], expected[i], 1e-4) << i;
  }
}

TEST(DecodeBBox, DropsUnusableRegionsInTraining) {
  const Array none = offsets({{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}});
  const auto kept = [](const Arrays& x) {
    LayerRun run(kLayer, x);
    run.forward();
    const Shape live = dynamic_cast<DynamicRows&>(run.layer()).current_shapes()[0];
    for (size_t i = size_t(live.count()); i < run.y()[0].size(); ++i) EXPECT_EQ(run.y()[0][i], 0);
    return std::vector<double>(run.y()[0].values.begin(), run.y()[0].values.begin() + live.count());
  };
  EXPECT_EQ(kept({none, kRegions}), (std::vector<double>{0, 10, 20, 19, 39, 1, 0, 0, 9, 9}));
  Array matches({3, 6}, 0.0);
  matches[5] = 0.96;
  matches[11] = 0.9;
  EXPECT_EQ(kept({none, kRegions, matches}), (std::vector<double>{1, 0, 0, 9, 9}));
  Array nan = none;
  nan[6] = NAN;
  EXPECT_EQ(kept({nan, kRegions, matches}), (std::vector<double>{1, 0, 0, 9, 9}));
}

TEST(DecodeBBox, DropsObjectsByTheirOverlap) {
  Array matches({3, 6}, 0.0);
  matches[5] = 0.9, matches[11] = 0.8;
  LayerRun run(kLayer + "decode_bbox_param { gt_iou_thr: 0.85 }",
               {offsets({{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}), kRegions, matches});
  run.forward();
  EXPECT_EQ(dynamic_cast<DynamicRows&>(run.layer()).current_shapes()[0], (Shape{1, 5}));
  EXPECT_EQ(run.y()[0][0], 1);
}

TEST(DecodeBBox, ReportsErrors) {
  expect_field_error(kLayer, {{3, 4}, {3, 5}}, "bottom[0]", "3x4, but must be 3 x 8");
  expect_field_error(kLayer, {{3, 8}, {2, 5}}, "bottom[1]", "2x5, but must be 3 x 5");
  expect_field_error(kLayer, {{3, 8}, {3, 5}, {3, 5}}, "bottom[2]", "3x5, but must be 3 x 6");
  expect_field_error(kLayer + "bbox_reg_param { bbox_mean: 0 }", {{3, 8}, {3, 5}}, "bbox_reg_param.bbox_mean",
                     "bbox_mean is set 1 time");
  expect_field_error(kScaled + " decode_bbox_param { bbox_std: 1 }", {{3, 8}, {3, 5}}, "decode_bbox_param", "as well");
  std::string zero = kScaled;
  zero.replace(zero.find("bbox_std: 2"), 11, "bbox_std: 0");
  expect_field_error(zero, {{3, 8}, {3, 5}}, "bbox_reg_param.bbox_std", "0, but must be above 0");
  EXPECT_ANY_THROW(LayerRun(kLayer, {Array({1, 8}), Array({1, 5}), Array({1, 6})}, {.phase = caffe::TEST}));
}

}  // namespace
}  // namespace cortado::harness
