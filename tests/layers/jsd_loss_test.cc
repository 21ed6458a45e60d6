#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Rows of shares that add up to 1.
Array shares(const Shape& shape, uint64_t seed) {
  Array x = random(shape, seed);
  const size_t width = size_t(shape.count(1));
  for (size_t row = 0; row < x.size() / width; ++row) {
    double sum = 0;
    for (size_t i = 0; i < width; ++i) sum += std::exp(x[row * width + i]);
    for (size_t i = 0; i < width; ++i) x[row * width + i] = std::exp(x[row * width + i]) / sum;
  }
  return x;
}

double xlogx(double x) { return x > 0 ? x * std::log(x) : 0; }

Arrays divergence(const Arrays& x, const Arrays&) {
  double sum = 0;
  for (size_t i = 0; i < x[0].size(); ++i) {
    const double p = x[0][i], q = x[1][i], mean = (p + q) / 2;
    sum += (xlogx(p) + xlogx(q)) / 2 - xlogx(mean);
  }
  return {Array(Shape(), sum / double(x[0].shape[0]))};
}

TEST(JsdLoss, IsHalfTheDivergencesFromTheMean) {
  check_layer({.layer = "type: 'JSDLoss'", .x = {shares({4, 7}, 1), shares({4, 7}, 2)}, .reference = divergence});
  check_layer(
      {.layer = "type: 'JSDLoss'", .x = {shares({2, 3, 2, 2}, 1), shares({2, 12}, 2)}, .reference = divergence});
}

TEST(JsdLoss, IsZeroForEqualDistributionsAndLogTwoForDisjointOnes) {
  const Array p({1, 4}, {0.5, 0.5, 0, 0}), q({1, 4}, {0, 0, 0.25, 0.75});
  LayerRun same("type: 'JSDLoss'", {p, p}), apart("type: 'JSDLoss'", {p, q});
  same.forward();
  EXPECT_NEAR(same.y()[0][0], 0, 1e-6);
  apart.forward();
  EXPECT_NEAR(apart.y()[0][0], std::log(2.0), 1e-6);
}

TEST(JsdLoss, HasFiniteGradientsAtZero) {
  const Array p({1, 3}, {0, 0.4, 0.6}), q({1, 3}, {0.5, 0.5, 0});
  LayerRun run("type: 'JSDLoss'", {p, q});
  run.forward();
  run.backward({Array(Shape(), 1)});
  const Array dx = run.dx(0);
  const double expected[] = {std::log(2e-5 / (1e-5 + 0.5)) / 2, std::log(0.8 / 0.9) / 2, std::log(2.0) / 2};
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(dx[i], expected[i], 1e-4) << i;
}

TEST(JsdLoss, ReportsErrors) {
  expect_field_error("type: 'JSDLoss'", {{2, 3}, {2, 4}}, "bottom[1]", "its shape is 2x4, but bottom[0] has 2x3");
}

}  // namespace
}  // namespace cortado::harness
