#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::string layer(const std::string& options) {
  return "type: 'LabelSpecificAdd' label_specific_add_param { " + options + " }";
}

Arrays example() { return {keep_away(random({6, 5}, 1, 0, 2), 0.5), random_labels({6}, 2, 5)}; }

Array added(const Arrays& x, double bias) {
  Array y = x[0];
  for (size_t n = 0; n < 6; ++n) {
    double& score = y[5 * n + size_t(x[1][n])];
    if (score > -bias) score += bias;
  }
  return y;
}

TEST(LabelSpecificAdd, AddsToTheScoresOfLabels) {
  for (const double bias : {-0.5, 0.25})
    check_layer({.layer = layer("bias: " + std::to_string(bias)),
                 .x = example(),
                 .reference = [bias](const Arrays& x, const Arrays&) -> Arrays { return {added(x, bias)}; }});
}

TEST(LabelSpecificAdd, LeavesTestsAlone) {
  const Arrays x = example();
  LayerRun run(layer("bias: -0.5 transform_test: true"), x, {.phase = caffe::TEST});
  run.forward();
  expect_near(run.y()[0], x[0], 1e-6, "y");
}

TEST(LabelSpecificAdd, TheNumberGrows) {
  const Arrays x = example();
  const auto run = [&](uint64_t pass, const std::string& limits) {
    LayerRun run(layer("bias: 9 bias_base: 0.25 bias_gamma: 0.5 bias_power: 2 iteration: 1 " + limits), x,
                 {.pass = pass});
    run.forward();
    return run.y()[0];
  };
  expect_near(run(0, ""), added(x, 0.25 + 2.25 - 1), 1e-5, "first pass");
  expect_near(run(3, ""), added(x, 0.25 + 9 - 1), 1e-5, "fourth pass");
  expect_near(run(3, "bias_max: 3"), added(x, 3), 1e-5, "maximum");
  expect_near(run(0, "bias_min: 2"), added(x, 2), 1e-5, "minimum");
}

TEST(LabelSpecificAdd, RejectsInvalidLabels) {
  for (const double label : {5.0, -1.0, 0.5, double(NAN)}) {
    Arrays x = example();
    x[1][2] = label;
    LayerRun run(layer("bias: 1"), x);
    EXPECT_THROW(run.forward(), Error) << label;
    for (const Device& device : tested_devices()) {
      LayerRun there(layer("bias: 1"), x, {.device = device});
      there.forward();
      EXPECT_TRUE(std::isnan(there.y()[0][10]));
      EXPECT_FALSE(std::isnan(there.y()[0][9]));
    }
  }
}

TEST(LabelSpecificAdd, ReportsErrors) {
  const std::vector<Shape> x = {{6, 5}, {6}};
  const std::string field = "label_specific_add_param.";
  expect_field_error(layer("bias: nan"), x, field + "bias", "nan");
  expect_field_error(layer("bias_gamma: -1"), x, field + "bias_gamma", "-1, but must not be below 0");
  expect_field_error(layer("iteration: -1"), x, field + "iteration", "-1");
  expect_field_error(layer(""), {{6, 5}, {5}}, "bottom[1]", "5");
}

}  // namespace
}  // namespace cortado::harness
