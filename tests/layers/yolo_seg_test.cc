#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

Array reference(const Arrays& x, double scale) {
  const Shape& shape = x[0].shape;
  const int64_t images = shape[0], classes = shape[1], places = shape.count(2);
  double sum = 0;
  for (int64_t i = 0; i < shape.count(); ++i) {
    const int64_t c = i / places % classes;
    double weight = 1;
    if (x.size() > 2 && x[1][size_t(i)] > 0.5) {
      double area = 0;
      for (int64_t n = 0; n < images; ++n) area += x[2][size_t(n * classes + c)];
      weight = std::max(0.0, 2 - area / (double(images * places) - area));
    }
    const double s = 1 / (1 + std::exp(-x[0][size_t(i)])), t = x[1][size_t(i)];
    sum -= weight * (t * std::log(s) + (1 - t) * std::log(1 - s));
  }
  return Array(Shape(), scale * sum / double(images));
}

void check(const Arrays& x, const std::string& options = "", double scale = 1) {
  check_layer({.layer = "type: 'YoloSeg' yolo_seg_param { " + options + " }",
               .x = x,
               .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {reference(x, scale)}; }});
}

TEST(YoloSeg, IsCrossEntropy) {
  const Array x = random({2, 3, 4, 5}, 1, -3, 3), t = random({2, 3, 4, 5}, 2, 0, 1);
  check({x, t});
  check({x, t}, "object_scale: 0.2", 0.2);
}

/// The last class covers everything, the one before nearly so.
TEST(YoloSeg, WeightsSmallClassesMore) {
  const Array x = random({2, 3, 4, 5}, 1, -3, 3), t = random_labels({2, 3, 4, 5}, 3, 2);
  check({x, t, Array({2, 3}, {5, 19, 20, 2, 18, 20})}, "object_scale: 0.5", 0.5);
  check({x, t, Array({2, 3, 1, 1}, {0, 3, 10, 0, 5, 10})});
}

TEST(YoloSeg, ReportsErrors) {
  expect_field_error("type: 'YoloSeg'", {{2, 3, 4, 5}, {2, 3, 4, 4}}, "bottom[1]", "2x3x4x4");
  expect_field_error("type: 'YoloSeg'", {{2, 3, 4, 5}, {2, 3, 4, 5}, {2, 4}}, "bottom[2]", "its shape is 2x4");
  expect_field_error("type: 'YoloSeg'", {{2}, {2}}, "bottom[0]", "2");
}

}  // namespace
}  // namespace cortado::harness
