#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kOptions = "scale_tanh_param { init_scale: 1.5 step_size: 10 gamma: 0.02 power: 0.5 }";

/// After 24 earlier passes the last change of the factor was at 20.
LayerCase scaled(const Shape& shape, caffe::Phase phase, double count, double expected_step) {
  const double factor = 1.5 * std::pow(1 + 0.02 * expected_step, 0.5);
  return {
      .layer = "type: 'ScaleTanH' " + kOptions,
      .x = {random(shape, 1, -2, 2)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [=](double v) { return std::tanh(factor * v); })};
      },
      .w = {Array({1}, count)},
      .phase = phase,
      .channels_last = true,
  };
}

TEST(ScaleTanH, IsTanhWithAGrowingFactor) {
  check_layer(scaled({2, 20, 3, 4}, caffe::TRAIN, 24, 20));
  check_layer(scaled({6, 5}, caffe::TRAIN, 0, 0));
  check_layer(scaled({6, 5}, caffe::TRAIN, 29, 30));  // this pass is number 30
}

TEST(ScaleTanH, DoesNotCountTests) { check_layer(scaled({6, 5}, caffe::TEST, 29, 20)); }

TEST(ScaleTanH, KeepsTheNumberOfPasses) {
  for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
    LayerRun run("type: 'ScaleTanH' " + kOptions, {random({3}, 1)}, {.phase = phase, .backward = false},
                 {Array({1}, 7.0)});
    run.forward();
    run.forward();
    EXPECT_EQ(run.stored_w(0)[0], phase == caffe::TRAIN ? 9 : 7);
  }
}

TEST(ScaleTanH, RejectsInvalidFactors) {
  const auto expect = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'ScaleTanH' scale_tanh_param { " + options + " }", {{2, 3}}, "scale_tanh_param." + field,
                       words);
  };
  expect("step_size: 0", "step_size", "step_size is 0");
  expect("init_scale: nan", "init_scale", "must be a finite number");
  expect("gamma: -1", "gamma", "must not be below 0");
  expect("power: inf", "power", "must be a finite number");
}

}  // namespace
}  // namespace cortado::harness
