#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase clip(double min, double max, const Shape& shape = {2, 20, 3, 2}) {
  return {
      .layer = "type: 'Clip' clip_param { min: " + std::to_string(min) + " max: " + std::to_string(max) + " }",
      .x = {keep_away(keep_away(random(shape, 1, -2, 2), min), max)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [=](double v) { return std::clamp(v, min, max); })};
      },
      .channels_last = true,
  };
}

TEST(Clip, KeepsValuesWithinItsBounds) { check_layer(clip(-0.5, 1)); }
TEST(Clip, AcceptsBoundsWithoutZero) { check_layer(clip(0.5, 1.5)); }
TEST(Clip, RunsInFullBlocksForAnyValueAtZero) { check_layer(clip(0.5, 1.5, {1, 16, 2, 2})); }

TEST(Clip, PassesTheGradientOnItsBounds) {
  LayerRun run("type: 'Clip' clip_param { min: -1 max: 2 }", {Array({5}, {-1, 2, -1.5, 2.5, NAN})});
  run.forward();
  EXPECT_TRUE(std::isnan(run.y()[0][4]));
  run.backward({Array({5}, 1.0)});
  EXPECT_EQ(run.dx(0).values, (std::vector<double>{1, 1, 0, 0, 0}));
}

TEST(Clip, RunsInPaddedBlocksOnlyIfZeroStaysZero) {
  EXPECT_EQ(MadeLayer(clip(0, 6).layer, "", {{2, 20, 3, 3}}).layer->storage({}).layout, LayoutRule::kFollow);
  EXPECT_EQ(MadeLayer(clip(1, 6).layer, "", {{2, 20, 3, 3}}).layer->storage({}).layout, LayoutRule::kPlain);
}

TEST(Clip, RejectsInvalidBounds) {
  expect_field_error("type: 'Clip'", {{2}}, "clip_param", "min is missing");
  expect_field_error("type: 'Clip' clip_param { min: 2 max: 1 }", {{2}}, "clip_param.min", "min is 2");
  expect_field_error("type: 'Clip' clip_param { min: nan max: 1 }", {{2}}, "clip_param.min", "min is nan");
}

}  // namespace
}  // namespace cortado::harness
