#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/branches.h"

namespace cortado::harness {
namespace {

std::string layer(const std::string& options, const std::string& rest = "") {
  const std::string classes = options.find("cls_num") == std::string::npos ? " cls_num: 3" : "";
  return "type: 'DetectionGroupAccuracy' top: 'a' top: 'b' detection_group_accuracy_param { field_w: 8 field_w: 20 "
         "field_h: 4 field_h: 10 stride: 10 " +
         options + classes + " } " + rest;
}

/// One image with two templates of 1 x 2 positions. The best classes are 0 and 1, 2 and 0.
Arrays example() {
  return {Array({2, 3, 1, 2}, {5, 0, 1, 7, 2, 3, 0, 9, 1, 1, 2, 3}), Array({2, 4, 1, 2}, 0.0),
          branch_labels_of(2, 1, 2, {{0, 1, 1, 15, 5, 8, 4}, {1, 0, 1, 5, 5, 10, 10}})};
}

std::vector<double> run(const std::string& text, const Arrays& x) {
  LayerRun run(text, x);
  run.forward();
  return {run.y()[0][0], run.y()[0][1], run.y()[1][0]};
}

TEST(DetectionGroupAccuracy, CountsClassesAndAveragesOverlaps) {
  const std::vector<double> got = run(layer(""), example());
  EXPECT_NEAR(got[0], 0.75, 1e-6);
  EXPECT_NEAR(got[1], 0.5, 1e-6);
  EXPECT_NEAR(got[2], (1 + 100 / 200.) / 2, 1e-6);  // 10 x 10 pixels in a template of 20 x 10
}

TEST(DetectionGroupAccuracy, DecodesNormalizedBoxesWithinLimits) {
  Arrays x = example();
  x[1][8 + 4] = 9;  // of the second template, limited to twice its width
  EXPECT_NEAR(run(layer(""), x)[2], (1 + 100 / 400.) / 2, 1e-6);
  x[1][8 + 4] = -std::log(2) / 2;
  EXPECT_NEAR(run(layer("",
                        "bbox_reg_param { bbox_mean: 0 bbox_mean: 0 bbox_mean: 0 bbox_mean: 0 bbox_std: 1 "
                        "bbox_std: 1 bbox_std: 2 bbox_std: 1 }"),
                  x)[2],
              1, 1e-6);
}

TEST(DetectionGroupAccuracy, DistinguishesOnlyObjectsFromBackground) {
  Arrays x = {Array({2, 2, 1, 2}, {5, 0, 1, 7, 2, 3, 2, 4}), Array({2, 4, 1, 2}, 0.0),
              branch_labels_of(2, 1, 2, {{0, 1, 7, 15, 5, 8, 4}, {1, 0, 3, 5, 5, 10, 10}})};
  const std::vector<double> got = run(layer("cls_num: 2 objectness: true"), x);
  EXPECT_NEAR(got[0], 0.5, 1e-6);
  EXPECT_NEAR(got[1], 0.5, 1e-6) << "the first of equals is the best";
}

TEST(DetectionGroupAccuracy, SkipsIgnoredAndUnclearPositions) {
  Arrays x = example();
  x[2][10] = 0.4;  // the first position overlaps an object
  EXPECT_NEAR(run(layer("bg_threshold: 0.3"), x)[0], 2 / 3., 1e-6);
  EXPECT_EQ(run(layer("", "loss_param { ignore_label: 1 }"), x), (std::vector<double>{1, -1, -1}));
}

TEST(DetectionGroupAccuracy, RejectsInvalidLabels) {
  Arrays x = example();
  x[2][0] = 3;
  LayerRun run(layer(""), x);
  EXPECT_THROW(run.forward(), Error);
  for (const Device& device : tested_devices()) {
    LayerRun there(layer(""), x, {.device = device});
    there.forward();
    EXPECT_TRUE(std::isnan(there.y()[0][0]));
  }
}

TEST(DetectionGroupAccuracy, ReportsErrors) {
  const std::vector<Shape> x = {{4, 3, 4, 5}, {4, 4, 4, 5}, {4, 6, 4, 5}};
  const std::string field = "detection_group_accuracy_param.";
  expect_field_error(layer("field_whr: 0"), x, field + "field_whr", "0, but must be 1 or more");
  expect_field_error(layer("field_w: 9"), x, field + "field_h", "it is set 2 times, but field_w 3 times");
  expect_field_error(layer("objectness: true"), x, field + "cls_num", "3, but must be 2 with objectness");
  expect_field_error(layer(""), {{4, 4, 4, 5}, x[1], x[2]}, "bottom[0]", "N x 3 x H x W");
  expect_field_error(layer(""), {{3, 3, 4, 5}, {3, 4, 4, 5}, {3, 6, 4, 5}}, "bottom[0]", "N x 2 images");
}

}  // namespace
}  // namespace cortado::harness
