#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

double smooth(double d, double sigma) {
  const double size = std::fabs(d), edge = 1 / (sigma * sigma);
  return size < edge ? std::pow(sigma * d, 2) / 2 : size - edge / 2;
}

/// x1 = x0 + d, with d on both sides of the edge.
LayerCase smooth_l1(const std::string& options, double sigma, int bottoms, const Shape& shape = {3, 4, 2, 2}) {
  Arrays x = {random(shape, 1), random(shape, 2, -3, 3), random(shape, 3, -1, 2), random(shape, 4, 0, 2)};
  x.resize(size_t(bottoms));
  return {
      .layer = "type: 'SmoothL1Loss' " + options,
      .x = x,
      .reference = [sigma](const Arrays& x, const Arrays&) -> Arrays {
        double sum = 0;
        for (size_t i = 0; i < x[0].size(); ++i) {
          const double inside = x.size() > 2 ? x[2][i] : 1, outside = x.size() > 3 ? x[3][i] : 1;
          sum += outside * smooth(inside * (x[0][i] - x[1][i]), sigma);
        }
        return {Array(Shape(), sum / double(x[0].shape[0]))};
      },
  };
}

TEST(SmoothL1Loss, IsSquaredNearZeroAndAbsoluteBeyond) { check_layer(smooth_l1("", 1, 2)); }
TEST(SmoothL1Loss, SupportsInsideWeights) { check_layer(smooth_l1("", 1, 3)); }
TEST(SmoothL1Loss, SupportsInsideAndOutsideWeights) { check_layer(smooth_l1("", 1, 4)); }
TEST(SmoothL1Loss, SigmaMovesTheEdge) {
  check_layer(smooth_l1("smooth_l1_loss_param { sigma: 3 }", 3, 4));
  check_layer(smooth_l1("smooth_l1_loss_param { sigma: 0.5 }", 0.5, 2));
}

TEST(SmoothL1Loss, MatchesTheFormula) {
  // d = 0.5, -2, 1, 0: 0.125 + 1.5 + 0.5 + 0, over two samples
  LayerRun run("type: 'SmoothL1Loss'", {Array({2, 2}, {0.5, 0, 1, 7}), Array({2, 2}, {0, 2, 0, 7})});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 1.0625);
  run.backward({Array(Shape(), 1.0)});
  EXPECT_EQ(run.dx(0).values, (std::vector<double>{0.25, -0.5, 0.5, 0}));
  EXPECT_EQ(run.dx(1).values, (std::vector<double>{-0.25, 0.5, -0.5, 0}));
}

TEST(SmoothL1Loss, HasTheSumOfEachPositionAsASecondTop) {
  LayerCase layer = smooth_l1("top: 'loss' top: 'rows'", 1, 4);
  const Shape shape = {3, 4, 2, 5};
  for (size_t i = 0; i < 4; ++i) layer.x[i] = random(shape, 7 + i, -3, 3);
  layer.reference = [](const Arrays& x, const Arrays&) -> Arrays {
    Array rows({3, 1, 2, 5});
    double sum = 0;
    for (size_t i = 0; i < x[0].size(); ++i) {
      const double term = x[3][i] * smooth(x[2][i] * (x[0][i] - x[1][i]), 1);
      rows[i / 40 * 10 + i % 10] += term;
      sum += term;
    }
    return {Array(Shape(), sum / 3), rows};
  };
  check_layer(layer);
}

TEST(SmoothL1Loss, WeightsHaveNoGradient) {
  const MadeLayer made("type: 'SmoothL1Loss'", "", {{2, 3}, {2, 3}, {2, 3}, {2, 3}});
  EXPECT_TRUE(made.layer->differentiable(0) && made.layer->differentiable(1));
  EXPECT_FALSE(made.layer->differentiable(2) || made.layer->differentiable(3));
}

TEST(SmoothL1Loss, ReportsErrors) {
  expect_field_error("type: 'SmoothL1Loss'", {{4, 3}, {4, 3}, {4, 3}, {4, 2}}, "bottom[3]", "4x2, but bottom[0]");
  for (const std::string sigma : {"0", "-1", "nan", "inf"})
    expect_field_error("type: 'SmoothL1Loss' smooth_l1_loss_param { sigma: " + sigma + " }", {{4, 3}, {4, 3}},
                       "smooth_l1_loss_param.sigma", "above 0");
}

}  // namespace
}  // namespace cortado::harness
