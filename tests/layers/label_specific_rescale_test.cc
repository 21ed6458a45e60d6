#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::string layer(const std::string& options, const std::string& tops = "") {
  return "type: 'LabelSpecificRescale' " + tops + " label_specific_rescale_param { " + options + " }";
}

Arrays example() { return {random({6, 5}, 1), random_labels({6}, 2, 5)}; }

Array scaled(const Arrays& x, double positive, double negative, double shift, double lambda) {
  Array y = x[0];
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = double(i % 5) == x[1][i / 5] ? ((positive + lambda) * y[i] + shift) / (1 + lambda) : negative * y[i];
  return y;
}

TEST(LabelSpecificRescale, ScalesLabelsAndOthers) {
  const auto check = [](const std::string& options, double positive, double negative, double shift, double lambda) {
    check_layer({.layer = layer(options), .x = example(), .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
                   return {scaled(x, positive, negative, shift, lambda)};
                 }});
  };
  check("positive_weight: 2", 2, 1, 0, 0);
  check("negative_weight: 0.5", 1, 0.5, 0, 0);
  check("positive_weight: 3 negative_weight: 0.5 for_ip: true", 3, 0.5, -2, 0);
  check("positive_weight: 3 base: 8 gamma: 1 power: 2", 3, 1, 0, 2);  // 8 / 2^2 in the first pass
  check("positive_weight: 3 base: 8 gamma: 1 power: 2 lambda_min: 5 for_ip: true", 3, 1, -2, 5);
}

TEST(LabelSpecificRescale, ShowsTheWeightOfThePass) {
  const Arrays x = example();
  LayerRun run(layer("positive_weight: 3 base: 9 gamma: 1 power: 1", "top: 'y' top: 'lambda'"), x, {.pass = 7});
  run.forward();
  EXPECT_NEAR(run.y()[1][0], 1, 1e-6);
  expect_near(run.y()[0], scaled(x, 3, 1, 0, 1), 1e-5, "y");
}

TEST(LabelSpecificRescale, LeavesTestsAlone) {
  const Arrays x = example();
  const auto tested = [&](const std::string& options) {
    LayerRun run(layer("positive_weight: 3 negative_weight: 2 " + options), x, {.phase = caffe::TEST});
    run.forward();
    return run.y()[0];
  };
  expect_near(tested(""), x[0], 1e-6, "y");
  expect_near(tested("rescale_test: true"), scaled(x, 3, 2, 0, 0), 1e-5, "y");
}

TEST(LabelSpecificRescale, RejectsInvalidLabels) {
  for (const double label : {5.0, -1.0, 0.5, double(NAN)}) {
    Arrays x = example();
    x[1][2] = label;
    LayerRun run(layer("positive_weight: 2"), x);
    EXPECT_THROW(run.forward(), Error) << label;
    for (const Device& device : tested_devices()) {
      LayerRun there(layer("positive_weight: 2"), x, {.device = device});
      there.forward();
      EXPECT_TRUE(std::isnan(there.y()[0][10]));
    }
  }
}

TEST(LabelSpecificRescale, ReportsErrors) {
  const std::vector<Shape> x = {{6, 5}, {6}};
  const std::string field = "label_specific_rescale_param.";
  expect_field_error(layer("positive_weight: nan"), x, field + "positive_weight", "nan");
  expect_field_error(layer("gamma: -1"), x, field + "gamma", "-1, but must not be below 0");
  expect_field_error(layer(""), {{6, 5}, {5}}, "bottom[1]", "5");
}

}  // namespace
}  // namespace cortado::harness
