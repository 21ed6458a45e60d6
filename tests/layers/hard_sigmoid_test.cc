#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase hard_sigmoid(const std::string& options, double alpha, double beta, const Shape& shape = {2, 20, 3, 2}) {
  return {
      .layer = "type: 'HardSigmoid' hard_sigmoid_param { " + options + " }",
      .x = {keep_away(keep_away(random(shape, 1, -5, 5), -beta / alpha), (1 - beta) / alpha)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [=](double v) { return std::clamp(alpha * v + beta, 0.0, 1.0); })};
      },
      .channels_last = true,
  };
}

TEST(HardSigmoid, HasSlopeOneSixthByDefault) { check_layer(hard_sigmoid("", 1 / 6.0, 0.5)); }
TEST(HardSigmoid, SupportsAlphaAndBeta) { check_layer(hard_sigmoid("alpha: 0.25 beta: 0.125", 0.25, 0.125)); }
TEST(HardSigmoid, SupportsANegativeSlope) { check_layer(hard_sigmoid("alpha: -0.25 beta: -0.25", -0.25, -0.25)); }
TEST(HardSigmoid, RunsInFullBlocksForAnyValueAtZero) { check_layer(hard_sigmoid("", 1 / 6.0, 0.5, {1, 16, 2, 2})); }

TEST(HardSigmoid, RunsInPaddedBlocksOnlyIfZeroStaysZero) {
  const auto rule = [](const std::string& options) {
    return MadeLayer("type: 'HardSigmoid' hard_sigmoid_param { " + options + " }", "", {{2, 20, 3, 3}})
        .layer->storage({})
        .layout;
  };
  EXPECT_EQ(rule(""), LayoutRule::kPlain);
  EXPECT_EQ(rule("beta: 0"), LayoutRule::kFollow);
}

TEST(HardSigmoid, HasZeroSlopeOnItsBoundsAndPropagatesNan) {
  LayerRun run("type: 'HardSigmoid' hard_sigmoid_param { alpha: 0.5 beta: 0.5 }", {Array({4}, {-1, 0, 1, NAN})});
  run.forward();
  EXPECT_TRUE(std::isnan(run.y()[0][3]));
  run.backward({Array({4}, 1.0)});
  EXPECT_EQ(run.dx(0).values, (std::vector<double>{0, 0.5, 0, 0}));
}

}  // namespace
}  // namespace cortado::harness
