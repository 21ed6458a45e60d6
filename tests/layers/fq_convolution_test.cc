#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/fixed_point.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kOptions = " convolution_param { num_output: 20 kernel_size: 3 pad: 1 stride: 2 }";
const Array kWeights = random({20, 6, 3, 3}, 1, -0.7, 0.5), kBias = random({20}, 2), kLevels({4}, {16, 0, 0, 0});

/// In forward and backward it is Convolution with rounded weights.
void expect_rounded(const RunOptions& options, const Array& levels, const FixedPointRule& rule) {
  const Array x = random({2, 6, 7, 5}, 3);
  LayerRun run("type: 'FQConvolution'" + kOptions, {x}, options, {kWeights, kBias, levels});
  LayerRun reference("type: 'Convolution'" + kOptions, {x}, options, {rounded(kWeights, rule), kBias});
  for (LayerRun* each : {&run, &reference}) each->forward();
  expect_near(run.y()[0], reference.y()[0], 1e-4, "y");
  expect_near(run.stored_w(0), kWeights, 1e-6, "weights");
  if (!options.backward) return;
  const Array dy = random(run.y()[0].shape, 4);
  for (LayerRun* each : {&run, &reference}) each->backward({dy});
  expect_near(run.dx(0), reference.dx(0), 1e-4, "dx");
  for (size_t i = 0; i < 2; ++i) expect_near(run.dw(i), reference.dw(i), 1e-4, "dw");
}

/// Values that rounding does not change, where the slope of q is 1.
Array unchanged(const Shape& shape) {
  return map(random(shape, 5), [](double v) { return std::round(8 * v) / 8; });
}

TEST(FQConvolution, HasTheGradientsOfRoundedWeights) {
  check_layer({.layer = "type: 'FQConvolution' convolution_param { num_output: 20 kernel_size: 1 }",
               .x = {random({2, 3, 4, 5}, 6)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 const int64_t pixels = x[0].shape.count(2), images = x[0].shape[0];
                 Array y({2, 20, 4, 5});
                 for (int64_t i = 0; i < images * 20 * pixels; ++i) {
                   const int64_t n = i / pixels / 20, k = i / pixels % 20, p = i % pixels;
                   y[size_t(i)] = w[1][size_t(k)];
                   for (int64_t c = 0; c < 3; ++c)
                     y[size_t(i)] += w[0][size_t(3 * k + c)] * x[0][size_t((3 * n + c) * pixels + p)];
                 }
                 return {y};
               },
               .w = {unchanged({20, 3, 1, 1}), random({20}, 7), Array({4}, {256, 0, 0, 0})}});
}

TEST(FQConvolution, IsConvolutionOfRoundedWeights) {
  std::vector<Device> devices = tested_devices();
  devices.push_back({});
  for (const Device& device : devices) {
    expect_rounded({.device = device}, kLevels, fixed_point_rule(kWeights, 16));
    expect_rounded({.device = device, .add_dw = true}, kLevels, fixed_point_rule(kWeights, 16));
  }
}

TEST(FQConvolution, TestsUseWhatIsStored) {
  expect_rounded({.phase = caffe::TEST, .backward = false}, Array({4}, {16, 0.25, -2, 1}), {0.25, -2, 1});
  expect_rounded({.phase = caffe::TEST, .backward = false}, kLevels, fixed_point_rule(kWeights, 16));
}

TEST(FQConvolution, StoresTheLevels) {
  LayerRun run("type: 'FQConvolution'" + kOptions, {random({2, 6, 7, 5}, 3)}, {}, {kWeights, kBias, kLevels});
  run.forward();
  const FixedPointRule rule = fixed_point_rule(kWeights, 16);
  expect_near(run.stored_w(2), Array({4}, {16, rule.step, rule.low, rule.high}), 1e-6, "levels");
}

TEST(FQConvolution, StartsWith256Levels) {
  const MadeLayer made("type: 'FQConvolution'" + kOptions, "", {{2, 6, 7, 5}});
  ASSERT_EQ(made.shapes.w.size(), 3u);
  EXPECT_FALSE(made.shapes.w[2].learned);
}

TEST(FQConvolution, ReportsErrorsOfConvolution) {
  expect_field_error("type: 'FQConvolution' convolution_param { num_output: 4 }", {{2, 6, 7, 5}}, "convolution_param",
                     "kernel");
}

}  // namespace
}  // namespace cortado::harness
