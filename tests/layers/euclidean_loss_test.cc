#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase euclidean(const Shape& a, const Shape& b) {
  return {
      .layer = "type: 'EuclideanLoss'",
      .x = {random(a, 1), random(b, 2)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        double sum = 0;
        for (size_t i = 0; i < x[0].size(); ++i) sum += (x[0][i] - x[1][i]) * (x[0][i] - x[1][i]);
        return {Array(Shape(), sum / 2 / double(x[0].shape[0]))};
      },
  };
}

TEST(EuclideanLoss, IsHalfTheMeanSquaredDistance) { check_layer(euclidean({4, 3, 2, 2}, {4, 3, 2, 2})); }
TEST(EuclideanLoss, ComparesSamplesOfTheSameSize) { check_layer(euclidean({4, 1}, {4})); }

TEST(EuclideanLoss, WeightsDifferencesByAThirdBottom) {
  LayerCase c = euclidean({4, 3, 2}, {4, 3, 2});
  c.layer += " bottom: 'a' bottom: 'b' bottom: 'scale'";
  c.x.push_back(random({4, 3, 2}, 3));
  c.reference = [](const Arrays& x, const Arrays&) -> Arrays {
    double sum = 0;
    for (size_t i = 0; i < x[0].size(); ++i) sum += std::pow(x[2][i] * (x[0][i] - x[1][i]), 2);
    return {Array(Shape(), sum / 2 / 4)};
  };
  check_layer(c);
}

TEST(EuclideanLoss, IsZeroForNoSamples) {
  LayerRun run("type: 'EuclideanLoss'", {Array({0, 3}), Array({0, 3})});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 0);
}

TEST(EuclideanLoss, ReportsBothShapes) {
  expect_field_error("type: 'EuclideanLoss'", {{4, 3}, {4, 2}}, "bottom[1]", "4x2, but bottom[0] has 4x3");
  expect_field_error("type: 'EuclideanLoss'", {{4, 3}, {3, 4}}, "bottom[1]", "3x4");
  expect_field_error("type: 'EuclideanLoss'", {{}, {}}, "bottom[0]", "0 axes");
}

}  // namespace
}  // namespace cortado::harness
