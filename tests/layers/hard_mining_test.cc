#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::string layer(const std::string& options, const std::string& tops = "top: 'a' top: 'b'") {
  return "type: 'HardMining' bottom: 'loss' bottom: 'rois' bottom: 'labels' " + tops + " hard_mining_param { " +
         options + " }";
}

/// Regions of these images, and labels that are their numbers.
Arrays example(const std::vector<double>& images, const std::vector<double>& losses) {
  const int64_t count = int64_t(images.size());
  Arrays x = {Array({count, 1, 1, 1}, losses), Array({count, 5}), Array({count})};
  for (size_t r = 0; r < images.size(); ++r) {
    x[1][5 * r] = images[r], x[1][5 * r + 1] = double(r) + 0.5;
    x[2][r] = double(r);
  }
  return x;
}

std::vector<double> selected(const std::string& options, const Arrays& x) {
  LayerRun run(layer(options), x);
  run.forward();
  EXPECT_EQ(run.y()[0].shape, (Shape{run.y()[1].shape[0], 5}));
  for (size_t r = 0; r < run.y()[1].size(); ++r) EXPECT_EQ(run.y()[0][5 * r + 1], run.y()[1][r] + 0.5);
  return run.y()[1].values;
}

TEST(HardMining, SelectsTheLargestLossesOfEachImage) {
  const Arrays x = example({0, 1, 0, 1, 0, 1}, {1, 9, 3, 8, 2, 7});
  EXPECT_EQ(selected("num_image: 2 num_roi_per_image: 2", x), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(selected("num_image: 2 num_roi_per_image: 1", x), (std::vector<double>{1, 2}));
  EXPECT_EQ(selected("num_image: 2 num_roi_per_image: 9", x), (std::vector<double>{0, 1, 2, 3, 4, 5}));
}

TEST(HardMining, FillsUpWithOtherImages) {
  EXPECT_EQ(selected("num_image: 2 num_roi_per_image: 2", example({0, 1, 1, 1, 1}, {5, 1, 4, 3, 2})),
            (std::vector<double>{0, 2, 3, 4}));
}

TEST(HardMining, TakesTheFirstOfEqualsAndNanLast) {
  EXPECT_EQ(selected("num_image: 1 num_roi_per_image: 2", example({0, 0, 0, 0}, {NAN, 1, 1, 1})),
            (std::vector<double>{1, 2}));
  EXPECT_EQ(selected("num_image: 1 num_roi_per_image: 2", example({0, 0, 0}, {NAN, NAN, 1})),
            (std::vector<double>{0, 2}));
}

TEST(HardMining, RejectsRegionsOfOtherImages) {
  for (const double image : {2.0, -1.0, 0.5, double(NAN)}) {
    const Arrays x = example({0, image, 1}, {1, 9, 2});
    LayerRun run(layer("num_image: 2 num_roi_per_image: 1"), x);
    EXPECT_THROW(run.forward(), Error) << image;
    for (const Device& device : tested_devices()) {
      LayerRun there(layer("num_image: 2 num_roi_per_image: 1"), x, {.device = device});
      there.forward();
      EXPECT_EQ(there.y()[1].values, (std::vector<double>{0, 2}));
    }
  }
}

TEST(HardMining, ReportsErrors) {
  const std::vector<Shape> x = {{6}, {6, 5}, {6}};
  expect_field_error(layer("num_roi_per_image: 0"), x, "hard_mining_param.num_roi_per_image", "it is 0");
  expect_field_error(layer("num_image: 0"), x, "hard_mining_param.num_image", "it is 0");
  expect_field_error(layer("", "top: 'a'"), x, "top", "3 bottoms and 1 top");
  expect_field_error(layer(""), {{5}, {6, 5}, {6}}, "bottom[0]", "there are 6 regions");
  expect_field_error(layer(""), {{6}, {6, 4}, {6}}, "bottom[1]", "R x 5");
  expect_field_error(layer(""), {{6}, {6, 5}, {7}}, "bottom[2]", "there are 6 regions");
}

}  // namespace
}  // namespace cortado::harness
