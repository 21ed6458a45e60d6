#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kTwo = "type: 'BoxAnnotatorOHEM' box_annotator_ohem_param { roi_per_img: 2 }";

/// Regions of these images; the corners are not read.
Array regions(const std::vector<double>& images) {
  Array rows({int64_t(images.size()), 5}, 7.0);
  for (size_t r = 0; r < images.size(); ++r) rows[5 * r] = images[r];
  return rows;
}

Arrays annotate(const std::string& layer, const Arrays& x) {
  LayerRun run(layer, x);
  run.forward();
  return run.y();
}

TEST(BoxAnnotatorOHEM, KeepsTheHardestOfEachImage) {
  const Arrays y = annotate(kTwo, {regions({0, 1, 0, 0, 1}), Array({5}, {3, 1, 1, 2, 9}), Array({5}, {4, 5, 6, 7, 8}),
                                   Array({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})});
  EXPECT_EQ(y[0].values, (std::vector<double>{4, 5, -1, 7, 8}));
  EXPECT_EQ(y[1].values, (std::vector<double>{1, 2, 3, 4, 0, 0, 7, 8, 9, 10}));
}

TEST(BoxAnnotatorOHEM, TakesTheFirstOfEqualLossesAndNoNan) {
  const Arrays y = annotate(
      "type: 'BoxAnnotatorOHEM' box_annotator_ohem_param { roi_per_img: 2 ignore_label: 255 }",
      {regions({0, 0, 0, 0}), Array({4, 1}, {NAN, 1, 1, 1}), Array({4, 1}, {1, 2, 3, 4}), Array({4, 1}, {1, 1, 1, 1})});
  EXPECT_EQ(y[0].values, (std::vector<double>{255, 2, 3, 255}));
  EXPECT_EQ(y[1].values, (std::vector<double>{0, 1, 1, 0}));
}

TEST(BoxAnnotatorOHEM, SupportsPositions) {
  // One row of two positions: both in image 0.
  const Arrays y = annotate("type: 'BoxAnnotatorOHEM' box_annotator_ohem_param { roi_per_img: 1 }",
                            {Array({1, 5, 1, 2}, 0.0), Array({1, 1, 1, 2}, {1, 2}), Array({1, 1, 1, 2}, {5, 6}),
                             Array({1, 2, 1, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(y[0].values, (std::vector<double>{-1, 6}));
  EXPECT_EQ(y[1].values, (std::vector<double>{0, 2, 0, 4}));
}

TEST(BoxAnnotatorOHEM, AcceptsNoRegions) {
  EXPECT_EQ(annotate(kTwo, {Array({0, 5}), Array({0}), Array({0}), Array({0, 8})})[1].shape, (Shape{0, 8}));
}

TEST(BoxAnnotatorOHEM, RejectsInvalidImages) {
  for (const double image : {-1.0, 0.5, double(NAN), double(INFINITY)}) {
    const Arrays x = {regions({0, image}), Array({2}, 1.0), Array({2}, 3.0), Array({2, 4}, 1.0)};
    LayerRun run(kTwo, x);
    try {
      run.forward();
      ADD_FAILURE() << image;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      EXPECT_NE(std::string(error.what()).find("region 1 is of image"), std::string::npos) << error.what();
    }
    for (const Device& device : tested_devices()) {
      LayerRun there(kTwo, x, {.device = device});
      there.forward();
      EXPECT_EQ(there.y()[0].values, (std::vector<double>{3, -1}));
    }
  }
}

TEST(BoxAnnotatorOHEM, ReportsErrors) {
  expect_field_error("type: 'BoxAnnotatorOHEM' box_annotator_ohem_param { roi_per_img: 0 }", {{5, 5}, {5}, {5}, {5, 8}},
                     "box_annotator_ohem_param.roi_per_img", "0");
  expect_field_error(kTwo, {{5, 4}, {5}, {5}, {5, 8}}, "bottom[0]", "5x4, but regions are R x 5");
  expect_field_error(kTwo, {{5, 5}, {4}, {5}, {5, 8}}, "bottom[1]", "bottom[0] has 5 regions");
  expect_field_error(kTwo, {{5, 5}, {5}, {5, 2}, {5, 8}}, "bottom[2]", "bottom[0] has 5 regions");
  expect_field_error(kTwo, {{5, 5}, {5}, {5}, {4, 8}}, "bottom[3]", "4x8, but bottom[0] has 5x5");
}

}  // namespace
}  // namespace cortado::harness
