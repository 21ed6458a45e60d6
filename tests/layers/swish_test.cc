#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase swish(const std::string& options, double beta) {
  return {
      .layer = "type: 'Swish' swish_param { " + options + " }",
      .x = {random({2, 20, 3, 2}, 1, -4, 4)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [=](double v) { return v / (1 + std::exp(-beta * v)); })};
      },
      .channels_last = true,
  };
}

TEST(Swish, IsXTimesItsSigmoid) { check_layer(swish("", 1)); }
TEST(Swish, SupportsBeta) { check_layer(swish("beta: 1.5", 1.5)); }
TEST(Swish, SupportsANegativeBeta) { check_layer(swish("beta: -0.5", -0.5)); }
TEST(Swish, IsHalfOfXWithoutBeta) { check_layer(swish("beta: 0", 0)); }

TEST(Swish, StaysFiniteForLargeInputs) {
  LayerRun run("type: 'Swish'", {Array({2}, {1000, -1000})});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 1000);
  EXPECT_EQ(run.y()[0][1], 0);
  run.backward({Array({2}, 1.0)});
  EXPECT_EQ(run.dx(0)[0], 1);
  EXPECT_EQ(run.dx(0)[1], 0);
}

}  // namespace
}  // namespace cortado::harness
