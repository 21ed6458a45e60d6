#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase power(double power, double scale, double shift, const Array& x) {
  return {
      .layer = "type: 'Power' power_param { power: " + std::to_string(power) + " scale: " + std::to_string(scale) +
               " shift: " + std::to_string(shift) + " }",
      .x = {x},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [=](double v) {
          if (power == 0) return 1.0;
          return std::pow(shift + scale * v, power);
        })};
      },
      .channels_last = true,
  };
}

Array positive() { return random({2, 20, 3, 2}, 1, 0.5, 2); }
Array both_signs() { return random({2, 20, 3, 2}, 2, -2, 2); }

TEST(Power, IsTheIdentityWithoutOptions) { check_layer(power(1, 1, 0, both_signs())); }
TEST(Power, ScalesAndShifts) { check_layer(power(1, -0.5, 2, both_signs())); }
TEST(Power, Squares) { check_layer(power(2, 0.5, 0.25, both_signs())); }
TEST(Power, Cubes) { check_layer(power(3, 1, 0, both_signs())); }
TEST(Power, TakesRoots) { check_layer(power(0.5, 2, 0, positive())); }
TEST(Power, Inverts) { check_layer(power(-1, 1, 0.5, positive())); }
TEST(Power, IsConstantWithoutScale) { check_layer(power(2, 0, 3, both_signs())); }
TEST(Power, IsOneForPowerZero) { check_layer(power(0, 1, 0, both_signs())); }
TEST(Power, RunsInFullBlocksForAnyValueAtZero) { check_layer(power(2, 1, 1, random({1, 16, 2, 2}, 3))); }

TEST(Power, HasAFiniteSlopeAtZero) {
  LayerRun run("type: 'Power' power_param { power: 3 }", {Array(Shape{1})});
  run.forward();
  run.backward({Array(Shape{1}, 1)});
  EXPECT_EQ(run.dx(0)[0], 0);
}

TEST(Power, RunsInPaddedBlocksOnlyIfZeroStaysZero) {
  const auto rule = [](const std::string& options) {
    return MadeLayer("type: 'Power' power_param { " + options + " }", "", {{2, 20, 3, 3}}).layer->storage({}).layout;
  };
  EXPECT_EQ(rule("scale: 2"), LayoutRule::kFollow);
  EXPECT_EQ(rule("shift: 1"), LayoutRule::kPlain);
  EXPECT_EQ(rule("power: 0.5"), LayoutRule::kPlain);
}

}  // namespace
}  // namespace cortado::harness
