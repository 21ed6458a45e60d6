#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kLayer = "type: 'BboxAccuracy' top: 'after' top: 'before' ";

std::vector<double> run(const std::string& layer, const Arrays& x) {
  LayerRun run(layer, x);
  run.forward();
  return {run.y()[0][0], run.y()[1][0]};
}

/// Four regions of 10 x 10: background; an object of class 1, 5 pixels to the right; one of class 2, twice as high; an
/// object itself.
Arrays regions(int64_t classes) {
  return {Array({4, 4 * classes}, 0.0), Array({4, 5}, {0, 0, 0, 9, 9, 0, 0, 0, 9, 9, 0, 0, 0, 9, 9, 0, 0, 0, 9, 9}),
          Array({4, 6}, {0, 0, 0, 0,  0,  0,       //
                         1, 5, 0, 14, 9,  1 / 3.,  //
                         2, 0, 0, 9,  19, 0.5,     //
                         1, 0, 0, 9,  9,  1})};
}

TEST(BboxAccuracy, IsTheMeanOverlapOfObjectsAndPredictions) {
  Arrays x = regions(3);
  const std::vector<double> same = run(kLayer, x);
  EXPECT_NEAR(same[0], (1 / 3. + 0.5) / 2, 1e-6);
  EXPECT_NEAR(same[1], same[0], 1e-6);
  x[0][12 + 4] = 0.5;                                      // of class 1
  x[0][24 + 8 + 1] = 0.5, x[0][24 + 8 + 3] = std::log(2);  // of class 2
  const std::vector<double> moved = run(kLayer, x);
  EXPECT_NEAR(moved[0], 1, 1e-5);
  EXPECT_NEAR(moved[1], same[1], 1e-6);
}

TEST(BboxAccuracy, SupportsClassAgnosticOffsets) {
  Arrays x = regions(2);
  x[0][8 + 4] = 1;  // a deviation of 0.5
  x[0][16 + 4 + 1] = 1, x[0][16 + 4 + 3] = std::log(2);
  EXPECT_NEAR(run(kLayer + "bbox_reg_param { cls_aware: false bbox_mean: 0 bbox_mean: 0 bbox_mean: 0 bbox_mean: 0 "
                           "bbox_std: 0.5 bbox_std: 0.5 bbox_std: 1 bbox_std: 1 }",
                  x)[0],
              1, 1e-5);
}

TEST(BboxAccuracy, IsMinusOneWithoutObjects) {
  Arrays x = regions(3);
  x[2] = Array({4, 6}, 0.0);
  EXPECT_EQ(run(kLayer, x), (std::vector<double>{-1, -1}));
}

TEST(BboxAccuracy, RejectsInvalidClasses) {
  for (const double label : {-1.0, 3.0, 1e30, double(NAN)}) {
    Arrays x = regions(3);
    x[2][6] = label;
    LayerRun run(kLayer, x);
    try {
      run.forward();
      ADD_FAILURE() << label;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      EXPECT_NE(std::string(error.what()).find("the match of region 1 has class"), std::string::npos) << error.what();
    }
    for (const Device& device : tested_devices()) LayerRun(kLayer, x, {.device = device}).forward();
  }
}

TEST(BboxAccuracy, ReportsErrors) {
  expect_field_error(kLayer, {{4, 6}, {4, 5}, {4, 6}}, "bottom[0]", "4x6, but offsets are R x 4K");
  expect_field_error(kLayer, {{4, 8}, {4, 4}, {4, 6}}, "bottom[1]", "4x4, but must be 4 x 5");
  expect_field_error(kLayer, {{4, 8}, {4, 5}, {3, 6}}, "bottom[2]", "3x6, but must be 4 x 6");
  expect_field_error(kLayer + "bbox_reg_param { bbox_std: 1 }", {{4, 8}, {4, 5}, {4, 6}}, "bbox_reg_param",
                     "bbox_mean is set 0 times");
}

}  // namespace
}  // namespace cortado::harness
