#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

double by_erf(double v) { return v * 0.5 * (1 + std::erf(v / std::sqrt(2.0))); }

double by_tanh(double v) {
  return 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * std::pow(v, 3))));
}

LayerCase gelu(const std::string& options, double (*reference)(double)) {
  return {
      .layer = "type: 'GELU' gelu_param { " + options + " }",
      .x = {random({2, 20, 3, 2}, 1, -4, 4)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {map(x[0], reference)}; },
      .tolerance = 2e-5,  // the two differ by more
      .channels_last = true,
  };
}

TEST(GELU, IsXTimesTheNormalDistributionFunction) {
  check_layer(gelu("", by_erf));
  check_layer(gelu("approximate: false", by_erf));
}

TEST(GELU, SupportsTheTanhApproximation) { check_layer(gelu("approximate: true", by_tanh)); }

TEST(GELU, StaysFiniteForLargeInputs) {
  for (const char* approximate : {"false", "true"}) {
    LayerRun run(std::string("type: 'GELU' gelu_param { approximate: ") + approximate + " }",
                 {Array({4}, {1000, -1000, 3e38, -3e38})});
    run.forward();
    EXPECT_EQ(run.y()[0][0], 1000);
    EXPECT_EQ(run.y()[0][1], 0);
    run.backward({Array({4}, 1.0)});
    EXPECT_EQ(run.dx(0).values, (std::vector<double>{1, 0, 1, 0})) << approximate;
  }
}

/// 1 + erf(x) would lose all its digits here.
TEST(GELU, KeepsSmallValuesBelowZero) {
  LayerRun run("type: 'GELU'", {Array({1}, -6.0)});
  run.forward();
  EXPECT_NEAR(run.y()[0][0] / (-6 * 0.5 * std::erfc(6 / std::sqrt(2.0))), 1, 1e-4);
}

}  // namespace
}  // namespace cortado::harness
