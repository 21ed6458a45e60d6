#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/branches.h"

namespace cortado::harness {
namespace {

const std::string kParam =
    "detection_accuracy_param { cls_num: 3 field_w: 8 field_h: 4 downsample_rate: 10 field_xyr: 4 }";
const std::string kLayer = "type: 'DetectionAccuracy' top: 'a' top: 'b' " + kParam;

/// One image of 2 x 2 positions: an object of class 1 predicted as class 1, one of class 2 predicted as class 1, and
/// background predicted as background and as class 2.
Arrays example() {
  Array x({1, 7, 2, 2}, {0, 0, 1, 0,  //
                         1, 1, 0, 0,  //
                         0, 0, 0, 1,  //
                         0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, std::log(2), 0, 0});
  // The box of position 0 is 8 x 4 at (5, 5); that of position 1 is 8 x 8 at (15 + 8 / 4, 5).
  return {x, branch_labels_of(1, 2, 2, {{0, 0, 1, 5, 5, 8, 8}, {0, 1, 2, 17, 5, 8, 8}})};
}

Arrays run(const std::string& layer, const Arrays& x) {
  LayerRun run(layer, x);
  run.forward();
  return run.y();
}

TEST(DetectionAccuracy, IsTheFractionOfCorrectClassesAndTheMeanOverlap) {
  const Arrays y = run(kLayer, example());
  EXPECT_EQ(y[0].values, (std::vector<double>{0.5, 0.5}));
  EXPECT_NEAR(y[1][0], (0.5 + 1) / 2, 1e-6);
  EXPECT_EQ(y[0].shape, (Shape{1, 1, 1, 2}));
}

TEST(DetectionAccuracy, SkipsIgnoredAndUnclearPositions) {
  Arrays x = example();
  x[1][5 * 4 + 3] = 0.5;  // the background predicted as class 2 overlaps an object
  const Arrays y = run(kLayer + " loss_param { ignore_label: 2 }", x);
  EXPECT_EQ(y[0].values, (std::vector<double>{1, 1}));
  EXPECT_NEAR(y[1][0], 0.5, 1e-6);
}

TEST(DetectionAccuracy, OfEqualScoresTakesTheLastClass) {
  Arrays x = example();
  for (size_t i = 0; i < 12; ++i) x[0][i] = 0;
  EXPECT_EQ(run(kLayer, x)[0].values, (std::vector<double>{0.25, 0.5}));
}

TEST(DetectionAccuracy, IsMinusOneWithoutPositions) {
  Arrays x = example();
  x[1] = branch_labels_of(1, 2, 2, {});
  const Arrays y = run(kLayer, x);
  EXPECT_EQ(y[0].values, (std::vector<double>{0.25, -1}));
  EXPECT_EQ(y[1][0], -1);
}

TEST(DetectionAccuracy, RejectsInvalidLabels) {
  for (const double label : {3.0, -1.0, 0.5, double(NAN)}) {
    Arrays x = example();
    x[1][3] = label;
    LayerRun run(kLayer, x);
    try {
      run.forward();
      ADD_FAILURE() << label;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("of image 0, place 3 is not one of the 3 classes"), std::string::npos)
          << error.what();
    }
    for (const Device& device : tested_devices()) {
      LayerRun there(kLayer, x, {.device = device});
      there.forward();
      EXPECT_TRUE(std::isnan(there.y()[0][0]));
    }
  }
}

TEST(DetectionAccuracy, ReportsErrors) {
  const std::string type = "type: 'DetectionAccuracy' detection_accuracy_param { ", sizes = "field_w: 8 field_h: 4 ";
  const std::string field = "detection_accuracy_param.";
  const std::vector<Shape> x = {{1, 7, 2, 2}, {1, 6, 2, 2}};
  expect_field_error(type + sizes + "downsample_rate: 8 cls_num: 1 }", x, field + "cls_num", "1, but must be 2");
  expect_field_error(type + sizes + "downsample_rate: 8 cls_num: 3 coord_num: 5 }", x, field + "coord_num", "5");
  expect_field_error(type + sizes + "cls_num: 3 }", x, field + "downsample_rate", "0, but must be above 0");
  expect_field_error("type: 'DetectionAccuracy' " + kParam, {{1, 6, 2, 2}, x[1]}, "bottom[0]", "N x 7 x H x W");
  expect_field_error("type: 'DetectionAccuracy' " + kParam, {x[0], {1, 5, 2, 2}}, "bottom[1]", "1x5x2x2");
}

}  // namespace
}  // namespace cortado::harness
