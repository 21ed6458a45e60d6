#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Two images: the first has two objects of class 1 and a difficult one of class 2, the second has one of class 2.
const Array kObjects({1, 1, 5, 8}, {0,  1,  0,  0,   0,   0.5, 0.5, 0,  //
                                    0,  1,  1,  0.5, 0.5, 1,   1,   0,  //
                                    0,  2,  0,  0,   0.5, 0.5, 1,   1,  //
                                    1,  2,  0,  0,   0,   1,   1,   0,  //
                                    -1, -1, -1, -1,  -1,  -1,  -1,  -1});

const Array kDetections({1, 1, 8, 7}, {0, 1, 0.5,  0,   0,   0.5, 0.5,  // found already by the next one
                                       0, 1, 0.75, 0,   0,   0.5, 0.5,  // right
                                       0, 1, 0.25, 0.5, 0,   1,   0.5,  // nothing is there
                                       0, 2, 0.75, 0,   0.5, 0.5, 1,    // the difficult object
                                       1, 1, 0.5,  0,   0,   1,   1,    // of another class
                                       1, 2, 0.25, 0,   0,   0.5, 1,    // half of it: right at 0.5
                                       5, 1, 0.5,  0,   0,   1,   1,    // an image without objects
                                       0, 0, 0,    0,   0,   0,   0});

LayerCase evaluate(const std::string& options, const Array& detections, std::vector<double> rows) {
  rows.resize(size_t(5 * (detections.shape[2] + 2)));
  const Array y({1, 1, detections.shape[2] + 2, 5}, rows);
  return {.layer = "type: 'DetectionEvaluate' detection_evaluate_param { num_classes: 3 " + options + " }",
          .x = {detections, kObjects},
          .reference = [y](const Arrays&, const Arrays&) -> Arrays { return {y}; }};
}

TEST(DetectionEvaluate, MatchesDetectionsAndCountsObjects) {
  check_layer(evaluate("", kDetections, {-1, 1, 2,    -1, -1,                                      //
                                         -1, 2, 2,    -1, -1,                                      //
                                         0,  1, 0.75, 1,  0,  0, 1, 0.5,  0, 1, 0, 1, 0.25, 0, 1,  //
                                         0,  2, 0.75, 1,  0,                                       //
                                         1,  1, 0.5,  0,  1,  1, 2, 0.25, 1, 0,                    //
                                         5,  1, 0.5,  0,  1}));
}

TEST(DetectionEvaluate, SupportsDifficultObjectsAndAnotherThreshold) {
  check_layer(evaluate("evaluate_difficult_gt: false overlap_threshold: 0.6", kDetections,
                       {-1, 1, 2,    -1, -1,                                      //
                        -1, 2, 1,    -1, -1,                                      //
                        0,  1, 0.75, 1,  0,  0, 1, 0.5,  0, 1, 0, 1, 0.25, 0, 1,  //
                        0,  2, 0.75, 0,  0,                                       //
                        1,  1, 0.5,  0,  1,  1, 2, 0.25, 0, 1,                    //
                        5,  1, 0.5,  0,  1}));
}

TEST(DetectionEvaluate, AcceptsRowsWithoutDetections) {
  const Array none({1, 1, 2, 7}, {0, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1});
  check_layer(evaluate("", none, {-1, 1, 2, -1, -1, -1, 2, 2, -1, -1}));
}

TEST(DetectionEvaluate, ReportsErrors) {
  const std::vector<Shape> x = {{1, 1, 4, 7}, {1, 1, 2, 8}};
  expect_field_error("type: 'DetectionEvaluate'", x, "detection_evaluate_param.num_classes", "it is 0");
  expect_field_error("type: 'DetectionEvaluate' detection_evaluate_param { num_classes: 3 overlap_threshold: 0 }", x,
                     "detection_evaluate_param.overlap_threshold", "it is 0");
  const std::string layer = "type: 'DetectionEvaluate' detection_evaluate_param { num_classes: 3 }";
  expect_field_error(layer, {{1, 1, 4, 6}, {1, 1, 2, 8}}, "bottom[0]", "rows need 7 numbers");
  expect_field_error(layer, {{1, 1, 4, 7}, {1, 1, 2, 7}}, "bottom[1]", "rows need 8 numbers");
}

TEST(DetectionEvaluate, ReadsRowsOfCascadeRcnn) {
  // Objects of class 1 and a difficult one of class 2. The first detection has 10 x 8 of 10 x 10 pixels in common with
  // its object, the second equals it but comes later; the third equals the difficult one.
  const Arrays x = {
      Array({5, 7}, {0, -1, -1,  -1, -1, -1, -1, 0,  0, 2,   9, 11, 1,  0.9, 0,  0, 0,  9,
                     9, 1,  0.8, 0,  20, 20, 29, 29, 2, 0.7, 0, 20, 20, 29,  29, 1, 0.6}),
      Array({3, 8, 1, 1}, {0, 0, 0, 9, 9, 1, 0, 0, 0, 20, 20, 29, 29, 2, 0, 1, -1, -1, -1, -1, -1, -1, -1, -1}),
      Array({1, 2, 1, 1}, 50)};
  const auto rows = [&x](const std::string& options) {
    LayerRun run("type: 'DetectionEvaluate' detection_evaluate_param { num_classes: 3 evaluate_difficult_gt: false " +
                     options + " }",
                 x);
    run.forward();
    std::vector<double> values = run.y()[0].values;
    values.resize(30);
    for (double& value : values) value = std::round(value * 10) / 10;
    return values;
  };
  EXPECT_EQ(rows("overlap_threshold: 0.66"), (std::vector<double>{-1, 1, 1,   -1, -1, -1, 2, 0,   -1, -1,  //
                                                                  0,  1, 0.9, 1,  0,  0,  1, 0.8, 0,  1,   //
                                                                  0,  1, 0.6, 0,  1,  0,  2, 0.7, 0,  0}));
  EXPECT_EQ(rows("overlap_threshold: 0.67")[13], 0) << "80 of 120 pixels";
  expect_field_error("type: 'DetectionEvaluate' detection_evaluate_param { num_classes: 3 }",
                     {{5, 7}, {3, 8, 1, 1}, {1, 3}}, "bottom[2]", "N x 2");
}

}  // namespace
}  // namespace cortado::harness
