#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase relu6(const std::string& slope) {
  const double below = std::stod(slope);
  return {
      .layer = "type: 'ReLU6' relu_param { negative_slope: " + slope + " }",
      .x = {keep_away(keep_away(random({2, 20, 3, 4}, 1, -9, 9), 0), 6)},
      .reference = [below](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [below](double v) { return v > 0 ? std::min(v, 6.0) : below * v; })};
      },
      .channels_last = true,
  };
}

TEST(ReLU6, StopsAtSix) { check_layer(relu6("0")); }
TEST(ReLU6, Leaks) { check_layer(relu6("0.25")); }
TEST(ReLU6, FoldsWithANegativeSlope) { check_layer(relu6("-1.5")); }

TEST(ReLU6, HasZeroSlopeFromSixOnAndPropagatesNan) {
  LayerRun run("type: 'ReLU6'", {Array({5}, {NAN, -1, 5.5, 6, 7})});
  run.forward();
  EXPECT_TRUE(std::isnan(run.y()[0][0]));
  EXPECT_EQ(run.y()[0][4], 6);
  run.backward({Array({5}, 1.0)});
  EXPECT_EQ(run.dx(0).values, (std::vector<double>{0, 0, 1, 0, 0}));
}

}  // namespace
}  // namespace cortado::harness
