#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// A box of a cell: width, height and the offset of its centre from the cell's, in pixels.
struct Box {
  double width, height, x = 0, y = 0;
};

/// Corners of `boxes` around the centres of the cells, then variances.
Array priors(int cells_h, int cells_w, double step_h, double step_w, double image_h, double image_w,
             const std::vector<Box>& boxes, const std::vector<double>& variances, double offset = 0.5,
             bool clip = false) {
  Array y(Shape{1, 2, int64_t(boxes.size()) * cells_h * cells_w * 4});
  size_t at = 0;
  for (int h = 0; h < cells_h; ++h)
    for (int w = 0; w < cells_w; ++w)
      for (const Box& box : boxes) {
        const double x = (w + offset) * step_w + box.x, top = (h + offset) * step_h + box.y;
        for (const double v : {(x - box.width / 2) / image_w, (top - box.height / 2) / image_h,
                               (x + box.width / 2) / image_w, (top + box.height / 2) / image_h})
          y[at++] = clip ? std::min(std::max(v, 0.0), 1.0) : v;
      }
  for (; at < y.size(); ++at) y[at] = variances[at % 4];
  return y;
}

LayerCase prior_box(const std::string& options, const Array& expected) {
  return {.layer = "type: 'PriorBox' prior_box_param { " + options + " }",
          .x = {random({2, 3, 2, 3}, 1), random({2, 3, 40, 60}, 2)},
          .reference = [expected](const Arrays&, const Arrays&) -> Arrays { return {expected}; }};
}

TEST(PriorBox, HasSquaresAndRatiosAroundTheCentresOfCells) {
  const double r = std::sqrt(2), q = std::sqrt(3);
  check_layer(
      prior_box("min_size: 10 max_size: 40 aspect_ratio: 2 aspect_ratio: 3 variance: 0.1 variance: 0.2 "
                "variance: 0.3 variance: 0.4",
                priors(2, 3, 20, 20, 40, 60,
                       {{10, 10}, {20, 20}, {10 * r, 10 / r}, {10 / r, 10 * r}, {10 * q, 10 / q}, {10 / q, 10 * q}},
                       {0.1f, 0.2f, 0.3f, 0.4f})));
}

TEST(PriorBox, DropsDuplicateRatiosAndFlipsOnRequest) {
  const double r = std::sqrt(2);
  check_layer(prior_box(
      "min_size: 10 aspect_ratio: 1 aspect_ratio: 2 aspect_ratio: 0.5",
      priors(2, 3, 20, 20, 40, 60, {{10, 10}, {10 * r, 10 / r}, {10 / r, 10 * r}}, {0.1f, 0.1f, 0.1f, 0.1f})));
  check_layer(prior_box("min_size: 10 aspect_ratio: 2 flip: false variance: 0.5",
                        priors(2, 3, 20, 20, 40, 60, {{10, 10}, {10 * r, 10 / r}}, {0.5, 0.5, 0.5, 0.5})));
}

TEST(PriorBox, TruncatesSizesAndClipsBoxes) {
  check_layer(prior_box("min_size: 30.9 max_size: 50.7 clip: true step: 16 offset: 0.25 img_size: 48",
                        priors(2, 3, 16, 16, 48, 48, {{30, 30}, {std::sqrt(1500.0), std::sqrt(1500.0)}},
                               {0.1f, 0.1f, 0.1f, 0.1f}, 0.25, true)));
  check_layer(prior_box("min_size: 8 step_h: 10 step_w: 12 img_h: 30 img_w: 50",
                        priors(2, 3, 10, 12, 30, 50, {{8, 8}}, {0.1f, 0.1f, 0.1f, 0.1f})));
}

TEST(PriorBox, HasAnOffsetForEachAxis) {
  // One cell of 20 x 20: an offset moves its centre.
  const auto moved = [](const std::string& options, double x, double y) {
    check_layer(
        prior_box("min_size: 8 " + options, priors(2, 3, 20, 20, 40, 60, {{8, 8, x, y}}, {0.1f, 0.1f, 0.1f, 0.1f})));
  };
  moved("offset_w: 0.25 offset_h: 0.75", -5, 5);
  moved("offset_w: 1", 10, 0);
  moved("offset: 0 offset_h: 0.5", -10, 0);
}

TEST(PriorBox, HasEachSizeInTurn) {
  check_layer(prior_box("min_size: 4 min_size: 9 max_size: 9 max_size: 16",
                        priors(2, 3, 20, 20, 40, 60, {{4, 4}, {6, 6}, {9, 9}, {12, 12}}, {0.1f, 0.1f, 0.1f, 0.1f})));
}

TEST(PriorBox, SupportsDenserPriors) {
  const std::vector<Box> dense = {{32, 32, -8, -8}, {32, 32, 8, -8}, {32, 32, -8, 8}, {32, 32, 8, 8}, {64, 64}};
  check_layer(prior_box("fixed_size: 32 fixed_size: 64 density: 2 density: 1",
                        priors(2, 3, 20, 20, 40, 60, dense, {0.1f, 0.1f, 0.1f, 0.1f})));
  check_layer(prior_box("min_size: 8 denser_prior_boxes: true",
                        priors(2, 3, 20, 20, 40, 60, {{8, 8}, {8, 8, 0, 10}}, {0.1f, 0.1f, 0.1f, 0.1f})));
}

TEST(PriorBox, IsDenseForFaceBoxes) {
  std::vector<Box> boxes;
  for (const double y : {-16, -8, 0, 8})
    for (const double x : {-16, -8, 0, 8}) boxes.push_back({31, 31, x, y});
  for (const double y : {-16, 0})
    for (const double x : {-16, 0}) boxes.push_back({63, 63, x, y});
  boxes.push_back({127, 127});
  check_layer(prior_box("min_size: 32 min_size: 64 min_size: 128 densify: true",
                        priors(2, 3, 20, 20, 40, 60, boxes, {0.1f, 0.1f, 0.1f, 0.1f})));
  check_layer(
      prior_box("min_size: 256 densify: true", priors(2, 3, 20, 20, 40, 60, {{255, 255}}, {0.1f, 0.1f, 0.1f, 0.1f})));
}

TEST(PriorBox, ReportsErrors) {
  const std::vector<Shape> x = {{1, 3, 2, 2}, {1, 3, 20, 20}};
  const auto wrong = [&](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'PriorBox' prior_box_param { " + options + " }", x, "prior_box_param." + field, words);
  };
  wrong("", "min_size", "it is missing");
  wrong("min_size: -3", "min_size[0]", "it is -3");
  wrong("min_size: 3 max_size: 2", "max_size[0]", "must be above its min_size, 3");
  wrong("min_size: 3 min_size: 4 max_size: 9", "max_size[0]", "1 max_size for 2 min_sizes");
  wrong("min_size: 3 variance: 1 variance: 2", "variance[0]", "there are 2");
  wrong("min_size: 3 variance: 0", "variance[0]", "it is 0");
  wrong("min_size: 3 aspect_ratio: nan", "aspect_ratio[0]", "it is nan");
  wrong("min_size: 3 step: -1", "step", "it is -1");
  wrong("min_size: 32 max_size: 64 densify: true", "densify", "max_size");
  wrong("min_size: 32 aspect_ratio: 2 densify: true", "densify", "aspect_ratio");
  wrong("fixed_size: 32", "density", "0 densities for 1 fixed_size");
  wrong("fixed_size: 32 density: 1e9", "density[0]", "it is 1e+09");
  expect_field_error("type: 'PriorBox' prior_box_param { min_size: 3 }", {{2, 3}, {1, 3, 4, 4}}, "bottom[0]", "2x3");
}

}  // namespace
}  // namespace cortado::harness
