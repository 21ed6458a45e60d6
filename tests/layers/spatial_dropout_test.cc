#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kHalf = "type: 'SpatialDropout'";

Array forward(const std::string& layer, const Array& x, const RunOptions& options = {}) {
  LayerRun run(layer, {x}, options);
  run.forward();
  return run.y()[0];
}

TEST(SpatialDropout, DropsWholeChannels) {
  const auto check = [](const std::string& options, double ratio) {
    const Shape shape = {40, 100, 2, 3};
    const Array y = forward(kHalf + options, Array(shape, 3.0));
    int dropped = 0;
    for (size_t channel = 0; channel < 4000; ++channel) {
      const double first = y[channel * 6];
      dropped += first == 0;
      ASSERT_NEAR(first, first == 0 ? 0 : 3 / (1 - ratio), 1e-4);
      for (size_t place = 1; place < 6; ++place) ASSERT_EQ(y[channel * 6 + place], first);
    }
    EXPECT_NEAR(dropped / 4000.0, ratio, 0.04) << options;
  };
  check("", 0.5);
  check(" dropout_param { dropout_ratio: 0.2 }", 0.2);
  check(" spatial_dropout_param { dropout_ratio: 0.9 }", 0.9);
}

TEST(SpatialDropout, BackwardRecomputesTheMask) {
  for (const Device& device : tested_devices()) {
    LayerRun run(kHalf, {Array({8, 20, 3}, 1.0)}, {.device = device});
    run.forward();
    run.backward({Array({8, 20, 3}, 1.0)});
    EXPECT_TRUE(same_bits(run.dx(0), run.y()[0]));
    EXPECT_TRUE(same_bits(run.y()[0], forward(kHalf, Array({8, 20, 3}, 1.0)))) << "what the CPU draws";
  }
}

TEST(SpatialDropout, DrawsADifferentMaskForEachPassLayerAndSeed) {
  const Array x({4, 1024}, 1.0), first = forward(kHalf, x);
  RunOptions pass, layer, seed, in_place, eight;
  pass.pass = 1, layer.layer_seed = 8, seed.seed = 2, in_place.in_place = true, eight.threads = 8;
  for (const RunOptions& options : {pass, layer, seed}) EXPECT_FALSE(same_bits(first, forward(kHalf, x, options)));
  for (const RunOptions& options : {in_place, eight}) EXPECT_TRUE(same_bits(first, forward(kHalf, x, options)));
}

TEST(SpatialDropout, SupportsItsOwnSeed) {
  const Array x({4, 1024}, 1.0);
  const std::string own = kHalf + " dropout_param { random_seed: 5 }";
  RunOptions seed;
  seed.seed = 2;
  EXPECT_TRUE(same_bits(forward(own, x), forward(own, x, seed)));
  EXPECT_FALSE(same_bits(forward(own, x), forward(kHalf, x)));
}

TEST(SpatialDropout, IsTheIdentityInTesting) {
  check_layer({
      .layer = kHalf,
      .x = {random({2, 20, 3, 3}, 1)},
      .reference = [](const Arrays& x, const Arrays&) { return x; },
      .phase = caffe::TEST,
  });
}

TEST(SpatialDropout, ReportsErrors) {
  expect_field_error(kHalf + " dropout_param { dropout_ratio: 1 }", {{2, 3}}, "dropout_param.dropout_ratio", "[0, 1)");
  expect_field_error(kHalf + " spatial_dropout_param { dropout_ratio: -1 }", {{2, 3}},
                     "spatial_dropout_param.dropout_ratio", "[0, 1)");
  expect_field_error(kHalf + " spatial_dropout_param { dropout_ratio: 0.1 } dropout_param { dropout_ratio: 0.2 }",
                     {{2, 3}}, "dropout_param.dropout_ratio", "contradicts");
  expect_field_error(kHalf, {{5}}, "bottom[0]", "1 axis");
}

}  // namespace
}  // namespace cortado::harness
