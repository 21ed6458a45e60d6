#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase threshold(const std::string& options, double level, const Shape& shape) {
  return {
      .layer = "type: 'Threshold' threshold_param { " + options + " }",
      .x = {keep_away(random(shape, 1), level)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [=](double v) { return v > level ? 1.0 : 0.0; })};
      },
      .channels_last = true,
  };
}

TEST(Threshold, IsOneAboveZero) { check_layer(threshold("", 0, {2, 20, 3, 2})); }
TEST(Threshold, IsOneAboveItsThreshold) { check_layer(threshold("threshold: 0.25", 0.25, {2, 20, 3, 2})); }
TEST(Threshold, MayBeNegative) { check_layer(threshold("threshold: -0.5", -0.5, {2, 20, 3, 2})); }
TEST(Threshold, RunsInFullBlocksForAnyValueAtZero) { check_layer(threshold("threshold: -0.5", -0.5, {1, 16, 2, 2})); }

TEST(Threshold, IsZeroAtTheThresholdAndForNan) {
  LayerRun run("type: 'Threshold' threshold_param { threshold: 0.5 }", {Array({3}, {0.5, NAN, 0.75})});
  run.forward();
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{0, 0, 1}));
}

TEST(Threshold, HasNoGradient) { EXPECT_FALSE(MadeLayer("type: 'Threshold'", "", {{2}}).layer->differentiable(0)); }

TEST(Threshold, RunsInPaddedBlocksOnlyIfZeroStaysZero) {
  const auto rule = [](const std::string& options) {
    return MadeLayer("type: 'Threshold' threshold_param { " + options + " }", "", {{2, 20, 3, 3}})
        .layer->storage({})
        .layout;
  };
  EXPECT_EQ(rule(""), LayoutRule::kFollow);
  EXPECT_EQ(rule("threshold: -1"), LayoutRule::kPlain);
}

}  // namespace
}  // namespace cortado::harness
