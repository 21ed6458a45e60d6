#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kHalf = "type: 'Dropout'";

Array forward(const std::string& layer, const Array& x, const RunOptions& options = {}) {
  LayerRun run(layer, {x}, options);
  run.forward();
  return run.y()[0];
}

double share_of_zeros(const Array& array) {
  return double(std::count(array.values.begin(), array.values.end(), 0.0)) / double(array.size());
}

TEST(Dropout, DropsTheGivenFraction) {
  for (const double ratio : {0.1, 0.5, 0.9}) {
    const Array y =
        forward("type: 'Dropout' dropout_param { dropout_ratio: " + std::to_string(ratio) + " }", Array({100000}, 3.0));
    EXPECT_NEAR(share_of_zeros(y), ratio, 0.01);
    for (const double value : y.values) ASSERT_NEAR(value, value == 0 ? 0 : 3 / (1 - ratio), 1e-4);
  }
}

TEST(Dropout, DropsInTestsOnRequest) {
  RunOptions options;
  options.phase = caffe::TEST;
  const Array x({10000}, 1.0);
  EXPECT_EQ(share_of_zeros(forward(kHalf, x, options)), 0);
  const std::string layer = "type: 'Dropout' dropout_param { sample_weights_test: true }";
  EXPECT_TRUE(same_bits(forward(layer, x, options), forward(kHalf, x)));
}

TEST(Dropout, BackwardRecomputesTheMask) {
  for (const Shape& shape : {Shape{1001}, Shape{2, 20, 3, 3}}) {
    RunOptions options;
    if (shape.axes() == 4) options.layout = Layout::kBlocked16;
    LayerRun run(kHalf, {Array(shape, 1.0)}, options);
    run.forward();
    run.backward({Array(shape, 1.0)});
    EXPECT_TRUE(same_bits(run.dx(0), run.y()[0]));
    EXPECT_GT(share_of_zeros(run.dx(0)), 0.3);
  }
}

TEST(Dropout, DrawsADifferentMaskForEachPassLayerAndSeed) {
  const Array x({4096}, 1.0);
  const Array first = forward(kHalf, x);
  RunOptions pass, layer, seed;
  pass.pass = 1;
  layer.layer_seed = 8;
  seed.seed = 2;
  for (const RunOptions& options : {pass, layer, seed}) {
    const Array other = forward(kHalf, x, options);
    size_t equal = 0;
    for (size_t i = 0; i < x.size(); ++i) equal += first[i] == other[i];
    EXPECT_NEAR(double(equal) / 4096, 0.5, 0.05);
  }
  EXPECT_TRUE(same_bits(first, forward(kHalf, x)));
}

TEST(Dropout, DoesNotDependOnThreads) {
  RunOptions eight;
  eight.threads = 8;
  const Array x = random({100003}, 1);
  EXPECT_TRUE(same_bits(forward(kHalf, x), forward(kHalf, x, eight)));
}

TEST(Dropout, WorksInPlace) {
  RunOptions in_place;
  in_place.in_place = true;
  const Array x = random({2, 20, 3, 3}, 1);
  EXPECT_TRUE(same_bits(forward(kHalf, x), forward(kHalf, x, in_place)));
}

TEST(Dropout, IsTheIdentityInTesting) {
  check_layer({
      .layer = kHalf,
      .x = {random({2, 20, 3, 3}, 1)},
      .reference = [](const Arrays& x, const Arrays&) { return x; },
      .phase = caffe::TEST,
  });
}

TEST(Dropout, IsTheIdentityForRatioZero) {
  check_layer({
      .layer = "type: 'Dropout' dropout_param { dropout_ratio: 0 }",
      .x = {random({2, 5}, 1)},
      .reference = [](const Arrays& x, const Arrays&) { return x; },
  });
}

TEST(Dropout, SupportsScalingInTests) {
  const std::string layer = "type: 'Dropout' dropout_param { dropout_ratio: 0.25 scale_train: false }";
  const Array y = forward(layer, Array({100000}, 3.0));
  EXPECT_NEAR(share_of_zeros(y), 0.25, 0.01);
  for (const double value : y.values) ASSERT_EQ(value, value == 0 ? 0 : 3);
  const auto scaled = [](const Arrays& x, const Arrays&) -> Arrays {
    return {map(x[0], [](double v) { return 0.75 * v; })};
  };
  for (const Shape& shape : {Shape{2, 20, 3, 3}, Shape{2, 5}})
    check_layer({.layer = layer, .x = {random(shape, 1)}, .reference = scaled, .phase = caffe::TEST});
}

TEST(Dropout, BackwardRecomputesTheMaskWithoutAScale) {
  LayerRun run("type: 'Dropout' dropout_param { scale_train: false }", {Array({1001}, 1.0)});
  run.forward();
  run.backward({Array({1001}, 1.0)});
  EXPECT_TRUE(same_bits(run.dx(0), run.y()[0]));
}

TEST(Dropout, RejectsARatioOutsideItsRange) {
  for (const char* ratio : {"1", "1.5", "-0.1", "nan"})
    expect_field_error("type: 'Dropout' dropout_param { dropout_ratio: " + std::string(ratio) + " }", {{2, 3}},
                       "dropout_param.dropout_ratio", ratio);
}

}  // namespace
}  // namespace cortado::harness
