#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// OpenCV's bilinear sampling of one plane.
double sample(const double* image, int64_t height, int64_t width, double row, double column) {
  const auto value = [&](int64_t r, int64_t c) {
    return image[std::clamp<int64_t>(r, 0, height - 1) * width + std::clamp<int64_t>(c, 0, width - 1)];
  };
  const int64_t r = int64_t(std::floor(row)), c = int64_t(std::floor(column));
  const double down = row - double(r), right = column - double(c);
  return (1 - down) * ((1 - right) * value(r, c) + right * value(r, c + 1)) +
         down * ((1 - right) * value(r + 1, c) + right * value(r + 1, c + 1));
}

void check(const Shape& found, const Shape& known, double threshold) {
  SCOPED_TRACE(found.str() + " and " + known.str());
  check_layer({.layer = "type: 'SegmentationEvaluate' segmentation_evaluate_param { num_classes: 3 threshold: " +
                        std::to_string(threshold) + " }",
               .x = {random(found, 1, 0, 1), random_labels(known, 2, 2)},
               .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
                 Array y({1, 1, 1, 3});
                 const int64_t h = known[2], w = known[3];
                 for (int64_t c = 0; c < 3; ++c) {
                   double both = 0, either = 0;
                   for (int64_t n = 0; n < known[0]; ++n)
                     for (int64_t place = 0; place < h * w; ++place) {
                       const double row = (double(place / w) + 0.5) * double(found[2]) / double(h) - 0.5;
                       const double column = (double(place % w) + 0.5) * double(found[3]) / double(w) - 0.5;
                       const double p =
                           sample(&x[0].values[size_t((n * 3 + c) * found.count(2))], found[2], found[3], row, column);
                       const bool a = p > threshold, b = x[1][size_t((n * 3 + c) * h * w + place)] > threshold;
                       both += a && b;
                       either += a || b;
                     }
                   y[size_t(c)] = both > 0 ? both / either : 0;
                 }
                 return {y};
               }});
}

TEST(SegmentationEvaluate, ComparesSegments) {
  check({1, 3, 6, 5}, {1, 3, 6, 5}, 0.5);
  check({2, 3, 6, 5}, {2, 3, 6, 5}, 0.3);
}

TEST(SegmentationEvaluate, ResizesToOneSize) {
  check({2, 3, 4, 5}, {2, 3, 9, 7}, 0.5);
  check({1, 3, 9, 8}, {1, 3, 4, 3}, 0.4);
  check({1, 3, 1, 1}, {1, 3, 2, 3}, 0.5);
}

TEST(SegmentationEvaluate, IsZeroForAbsentClasses) {
  LayerRun run("type: 'SegmentationEvaluate' segmentation_evaluate_param { num_classes: 1 }",
               {Array({1, 1, 2, 2}), Array({1, 1, 2, 2})});
  run.forward();
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{0}));
}

TEST(SegmentationEvaluate, ReportsErrors) {
  const std::string layer = "type: 'SegmentationEvaluate' segmentation_evaluate_param { num_classes: 3 }";
  expect_field_error("type: 'SegmentationEvaluate'", {{1, 3, 2, 2}, {1, 3, 2, 2}},
                     "segmentation_evaluate_param.num_classes", "missing");
  expect_field_error(layer, {{1, 4, 2, 2}, {1, 3, 2, 2}}, "bottom[0]", "1x4x2x2");
  expect_field_error(layer, {{1, 3, 2, 2}, {2, 3, 2, 2}}, "bottom[1]", "2x3x2x2");
  expect_field_error(layer, {{1, 3, 0, 2}, {1, 3, 2, 2}}, "bottom[0]", "its shape is 1x3x0x2");
}

}  // namespace
}  // namespace cortado::harness
