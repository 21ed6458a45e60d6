#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase leaky(double slope) {
  return {
      .layer = "type: 'ReLU' relu_param { negative_slope: " + std::to_string(slope) + " }",
      .x = {keep_away(random({2, 20, 3, 4}, 1), 0)},
      .reference = [slope](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [slope](double v) { return v > 0 ? v : slope * v; })};
      },
      .channels_last = true,
  };
}

TEST(ReLU, IsTheMaximumOfXAndZero) { check_layer(leaky(0)); }
TEST(ReLU, Leaks) { check_layer(leaky(0.25)); }
TEST(ReLU, FoldsWithANegativeSlope) { check_layer(leaky(-0.5)); }

TEST(ReLU, TakesAnyNumberOfAxes) {
  for (const Shape& shape : {Shape(), Shape{5}, Shape{2, 3, 4, 5, 6}, Shape{0, 7}}) {
    LayerCase layer_case = leaky(0.25);
    layer_case.x = {keep_away(random(shape, 2), 0)};
    check_layer(layer_case);
  }
}

TEST(ReLU, WorksInPlaceUnlessTheSlopeIsNegative) {
  const auto in_place = [](const std::string& slope) {
    LayerRun run("type: 'ReLU' relu_param { negative_slope: " + slope + " }", {random({4}, 1)});
    return run.needs().aliasing.y_may_overwrite_x;
  };
  EXPECT_TRUE(in_place("0"));
  EXPECT_TRUE(in_place("0.1"));
  EXPECT_FALSE(in_place("-0.1"));
}

TEST(ReLU, PropagatesNan) {
  LayerRun run("type: 'ReLU'", {Array({3}, {NAN, -1, 2})});
  run.forward();
  EXPECT_TRUE(std::isnan(run.y()[0][0]));
  EXPECT_EQ(run.y()[0][1], 0);
  EXPECT_FALSE(std::signbit(run.y()[0][1]));
}

}  // namespace
}  // namespace cortado::harness
