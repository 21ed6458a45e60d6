#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

struct Norm {
  double eps = 1e-5;
  bool average = false;  ///< use the stored statistics
  bool scale = false, bias = false, relu = false;
  double ceiling = INFINITY;  ///< of the ReLU
};

int64_t channel_of(const Shape& shape, size_t i) {
  return shape.axes() < 2 ? 0 : int64_t(i) / shape.count(2) % shape[1];
}

/// Mean and biased variance of each channel of x in two passes.
std::pair<std::vector<double>, std::vector<double>> statistics(const Array& x) {
  const int64_t channels = x.shape.axes() < 2 ? 1 : x.shape[1];
  const double values = double(x.size()) / double(channels);
  std::vector<double> mean(static_cast<size_t>(channels)), variance(mean);
  for (size_t i = 0; i < x.size(); ++i) mean[size_t(channel_of(x.shape, i))] += x[i] / values;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = size_t(channel_of(x.shape, i));
    variance[c] += (x[i] - mean[c]) * (x[i] - mean[c]) / values;
  }
  return {mean, variance};
}

Array normalise(const Array& x, const Arrays& w, const Norm& o) {
  auto [mean, variance] = statistics(x);
  for (size_t c = 0; o.average && c < mean.size(); ++c) {
    const double factor = w[2][0];
    mean[c] = factor == 0 ? 0 : w[0][c] / factor;
    variance[c] = factor == 0 ? 0 : w[1][c] / factor;
  }
  Array y(x.shape);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = size_t(channel_of(x.shape, i));
    y[i] = (x[i] - mean[c]) / std::sqrt(variance[c] + o.eps);
    if (o.scale) y[i] = y[i] * w[3][c] + (o.bias ? w[4][c] : 0);
    if (o.relu) y[i] = std::clamp(y[i], 0.0, o.ceiling);
  }
  return y;
}

LayerCase norm(const Shape& shape, const Norm& o, const std::string& options = "", const std::string& follower = "") {
  const Shape channels = {shape.axes() < 2 ? 1 : shape[1]};
  return {
      .layer = "type: 'BatchNorm' batch_norm_param { " + options + (o.average ? " use_global_stats: true }" : " }"),
      .x = {random(shape, 1, -1, 3)},
      .reference = [=](const Arrays& x, const Arrays& w) -> Arrays { return {normalise(x[0], w, o)}; },
      .w = {random(channels, 2), random(channels, 3, 1, 3), Array({1}, 2.5)},
      .follower = follower,
  };
}

const std::vector<Shape> kShapes = {{2, 20, 3, 4}, {3, 32, 5, 7}, {4, 3, 1, 1},    {6, 37},
                                    {5, 16},       {7},           {2, 3, 4, 5, 2}, {2, 1, 8, 8}};

TEST(BatchNorm, HasMeanZeroAndVarianceOne) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(shape.str());
    LayerCase layer_case = norm(shape, {});
    layer_case.channels_last = true;
    check_layer(layer_case);
  }
  check_layer(norm({2, 20, 3, 4}, {.eps = 0.5}, "eps: 0.5"));
}

TEST(BatchNorm, UsesTheAverageWithUseGlobalStats) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(shape.str());
    check_layer(norm(shape, {.average = true}));
  }
}

TEST(BatchNorm, UsesTheAverageInTesting) {
  LayerCase layer_case = norm({2, 20, 3, 4}, {.average = true});
  layer_case.layer = "type: 'BatchNorm'";
  layer_case.phase = caffe::TEST;
  check_layer(layer_case);
}

TEST(BatchNorm, WithoutAnAverageItDividesByTheRootOfEps) {
  LayerCase layer_case = norm({2, 3, 2, 2}, {.eps = 0.25, .average = true}, "eps: 0.25");
  layer_case.w[2] = Array({1}, 0.0);
  check_layer(layer_case);
}

TEST(BatchNorm, FusesAScale) {
  for (const bool average : {false, true}) {
    check_layer(norm({2, 20, 3, 4}, {.average = average, .scale = true}, "", "type: 'Scale'"));
    check_layer(norm({2, 20, 3, 4}, {.average = average, .scale = true, .bias = true}, "",
                     "type: 'Scale' scale_param { bias_term: true }"));
    check_layer(norm({6, 37}, {.average = average, .scale = true, .bias = true}, "",
                     "type: 'Scale' scale_param { bias_term: true }"));
  }
}

TEST(BatchNorm, FusesARelu) {
  for (const Shape& shape : {Shape{2, 20, 3, 4}, Shape{3, 32, 5, 7}})
    for (const bool average : {false, true}) {
      check_layer(norm(shape, {.average = average, .relu = true}, "", "type: 'ReLU'"));
      // With its own factors instead of a Scale, because the harness supports one following layer.
      check_layer(norm(shape, {.average = average, .scale = true, .bias = true, .relu = true}, "scale_bias: true",
                       "type: 'ReLU'"));
    }
}

TEST(BatchNorm, FusesARelu6) {
  for (const Shape& shape : {Shape{2, 20, 3, 4}, Shape{3, 32, 5, 7}})
    for (const bool average : {false, true}) {
      const Norm o{.average = average, .scale = true, .bias = true, .relu = true, .ceiling = 6};
      LayerCase layer_case = norm(shape, o, "scale_bias: true", "type: 'ReLU6'");
      layer_case.w.push_back(random({shape[1]}, 4, 3, 6));  // so that some values exceed 6
      layer_case.w.push_back(random({shape[1]}, 5, 0, 2));
      check_layer(layer_case);
    }
}

/// With a second operand, and the reference of the sum.
LayerCase joined(const Shape& shape, const Norm& o, const std::string& options, const std::string& followers) {
  LayerCase layer_case = norm(shape, o, options, followers);
  layer_case.x.push_back(random(shape, 8));
  const double ceiling = o.ceiling;
  const bool relu = o.relu;
  Norm alone = o;
  alone.relu = false;
  layer_case.reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
    Array y = normalise(x[0], w, alone);
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] += x[1][i];
      if (relu) y[i] = std::clamp(y[i], 0.0, ceiling);
    }
    return {y};
  };
  layer_case.channels_last = true;
  return layer_case;
}

TEST(BatchNorm, FusesASum) {
  for (const Shape& shape : {Shape{2, 20, 3, 4}, Shape{3, 32, 5, 7}, Shape{6, 37}, Shape{2, 3, 4, 5, 2}})
    for (const bool average : {false, true}) check_layer(joined(shape, {.average = average}, "", "type: 'Eltwise'"));
  check_layer(joined({2, 20, 3, 4}, {.scale = true, .bias = true}, "",
                     "type: 'Scale' scale_param { bias_term: true }\ntype: 'Eltwise'"));
}

TEST(BatchNorm, FusesAResidualSum) {
  const std::string followers = "type: 'Scale' scale_param { bias_term: true }\ntype: 'Eltwise'\n";
  for (const Shape& shape : {Shape{2, 20, 3, 4}, Shape{3, 32, 5, 7}, Shape{2, 24, 4, 4}, Shape{5, 16}})
    for (const bool average : {false, true}) {
      const Norm o{.average = average, .scale = true, .bias = true, .relu = true};
      check_layer(joined(shape, o, "", followers + "type: 'ReLU'"));
    }
  const Norm capped{.scale = true, .bias = true, .relu = true, .ceiling = 6};
  LayerCase layer_case = joined({2, 20, 3, 4}, capped, "", followers + "type: 'ReLU6'");
  layer_case.w.push_back(random({20}, 4, 3, 6));  // so that some values exceed 6
  layer_case.w.push_back(random({20}, 5, 0, 2));
  check_layer(layer_case);
}

TEST(BatchNorm, DoesNotFuseOtherSums) {
  const auto absorbs = [](const std::string& followers) {
    return MadeLayer("type: 'BatchNorm'", followers, {{2, 3, 4, 5}, {2, 3, 4, 5}}).absorbed;
  };
  EXPECT_TRUE(absorbs("type: 'Eltwise'"));
  EXPECT_FALSE(absorbs("type: 'Eltwise' eltwise_param { coeff: 1 coeff: -1 }"));
  EXPECT_FALSE(absorbs("type: 'Eltwise' eltwise_param { operation: MAX }"));
  EXPECT_FALSE(absorbs("type: 'ReLU'\ntype: 'Eltwise'"));
  EXPECT_FALSE(absorbs("type: 'Eltwise'\ntype: 'Scale'"));
}

TEST(BatchNorm, DoesNotFuseOtherLayers) {
  const auto absorbs = [](const std::string& follower) {
    return MadeLayer("type: 'BatchNorm'", follower, {{2, 3, 4, 5}}).absorbed;
  };
  EXPECT_TRUE(absorbs("type: 'Scale'"));
  EXPECT_FALSE(absorbs("type: 'Scale' scale_param { axis: 2 }"));
  EXPECT_FALSE(absorbs("type: 'Scale' scale_param { num_axes: 2 }"));
  EXPECT_FALSE(absorbs("type: 'ReLU' relu_param { negative_slope: 0.1 }"));
  EXPECT_FALSE(absorbs("type: 'ReLU6' relu_param { negative_slope: 0.1 }"));
  EXPECT_FALSE(absorbs("type: 'Sigmoid'"));
}

TEST(BatchNorm, KeepsARunningAverageAsCaffeDoes) {
  const Array x = random({3, 2, 2, 5}, 1, -1, 3);
  const auto [mean, variance] = statistics(x);
  std::vector<Device> devices = tested_devices();
  devices.push_back({});
  for (const Device& device : devices) {
    LayerRun run("type: 'BatchNorm' batch_norm_param { moving_average_fraction: 0.5 }", {x}, {.device = device},
                 {Array({2}, 0.0), Array({2}, 0.0), Array({1}, 0.0)});
    run.forward();
    run.forward();
    for (size_t c = 0; c < 2; ++c) {
      EXPECT_NEAR(run.stored_w(0)[c], 1.5 * mean[c], 1e-5);
      EXPECT_NEAR(run.stored_w(1)[c], 1.5 * variance[c] * 30 / 29, 1e-5);
    }
    EXPECT_EQ(run.stored_w(2)[0], 1.5);
  }
}

// The first batch's statistics, then (1 - m) of the batch and m of the old average, which may have any factor; without
// m / (m - 1).
TEST(BatchNorm, KeepsARunningAverageAsNvidiaDoes) {
  const Array x = random({3, 2, 2, 5}, 1, -1, 3);
  const auto [mean, variance] = statistics(x);
  std::vector<Device> devices = tested_devices();
  devices.push_back({});
  for (const Device& device : devices) {
    const std::string layer = "type: 'BatchNorm' batch_norm_param { moving_average_fraction: 0.75 scale_bias: true }";
    const Array ones({2}, 1.0), zeros({2}, 0.0);
    LayerRun fresh(layer, {x}, {.device = device}, {zeros, zeros, Array({1}, 0.0), ones, zeros});
    fresh.forward();
    LayerRun loaded(layer, {x}, {.device = device}, {Array({2}, 8.0), Array({2}, 4.0), Array({1}, 2.0), ones, zeros});
    loaded.forward();
    for (size_t c = 0; c < 2; ++c) {
      EXPECT_NEAR(fresh.stored_w(0)[c], mean[c], 1e-5);
      EXPECT_NEAR(fresh.stored_w(1)[c], variance[c], 1e-5);
      EXPECT_NEAR(loaded.stored_w(0)[c], 0.75 * 4 + 0.25 * mean[c], 1e-5);
      EXPECT_NEAR(loaded.stored_w(1)[c], 0.75 * 2 + 0.25 * variance[c], 1e-5);
    }
    EXPECT_EQ(fresh.stored_w(2)[0], 1);
    EXPECT_EQ(loaded.stored_w(2)[0], 1);
  }
}

TEST(BatchNorm, HasAScaleWithNvidiasAndIntelsFields) {
  const Norm both{.scale = true, .bias = true};
  for (const char* words : {"scale_bias: true", "scale_filler { value: 2 }", "bias_filler { value: 1 }",
                            "use_weight_bias: true", "filler { value: 1 }", "bias_term: true"})
    check_layer(norm({2, 20, 3, 4}, both, words));
  check_layer(norm({2, 20, 3, 4}, {.scale = true}, "use_weight_bias: true bias_term: false"));
  check_layer(norm({2, 20, 3, 4}, {}, "use_weight_bias: false bias_filler { value: 1 }"));
}

TEST(BatchNorm, StartsWithItsFillers) {
  const auto fillers = [](const std::string& options) {
    std::vector<std::pair<std::string, float>> all;
    for (const WeightSpec& w :
         MadeLayer("type: 'BatchNorm' batch_norm_param { " + options + " }", "", {{2, 3, 4, 5}}).shapes.w)
      all.emplace_back(w.filler.type(), w.filler.value());
    return std::vector(all.begin() + 3, all.end());
  };
  const std::pair<std::string, float> one{"constant", 1}, zero{"constant", 0}, two{"constant", 2};
  EXPECT_EQ(fillers("scale_bias: true"), (std::vector{one, zero}));
  EXPECT_EQ(fillers("use_weight_bias: true"), (std::vector{one, zero}));
  EXPECT_EQ(fillers("scale_filler { value: 2 }"), (std::vector{two, zero}));
  EXPECT_EQ(fillers("filler { value: 2 } bias_filler { value: 1 }"), (std::vector{two, one}));
  EXPECT_TRUE(fillers("engine: MKLDNN").empty());
}

// A field that NVIDIA's net files contain and its layer ignores.
TEST(BatchNorm, NvidiasTestPhaseUsesTheAverage) {
  LayerCase layer_case = norm({2, 20, 3, 4}, {.eps = 1e-5, .average = true, .scale = true, .bias = true});
  layer_case.layer = "type: 'BatchNorm' batch_norm_param { scale_bias: true use_global_stats: false eps: 1e-9 }";
  layer_case.phase = caffe::TEST;
  check_layer(layer_case);
}

/// With variances near eps, so that it matters which one is added.
TEST(BatchNorm, NvidiasEpsIsAtLeastACertainValue) {
  const std::map<std::string, Norm> forms = {
      {"eps: 1e-8", {.eps = 1e-8}},
      {"eps: 1e-8 scale_bias: true", {.eps = 1e-5, .scale = true, .bias = true}},
      {"eps: 4e-5 scale_bias: true", {.eps = 4e-5, .scale = true, .bias = true}}};
  for (const auto& [options, form] : forms)
    for (const bool average : {false, true}) {
      SCOPED_TRACE(options);
      Norm o = form;
      o.average = average;
      LayerCase layer_case = norm({2, 20, 3, 4}, o, options);
      layer_case.x = {random({2, 20, 3, 4}, 1, -0.005, 0.005)};
      layer_case.w = {random({20}, 2, -0.001, 0.001), random({20}, 3, 5e-6, 2e-5), Array({1}, 1.0)};
      const Arrays y = layer_case.reference(
          layer_case.x, {layer_case.w[0], layer_case.w[1], layer_case.w[2], Array({20}, 1.0), Array({20}, 0.0)});
      layer_case.w.resize(3);
      std::vector<Device> devices = tested_devices();
      devices.push_back({});
      for (const Device& device : devices) {
        Arrays w = layer_case.w;
        if (form.scale) w.insert(w.end(), {Array({20}, 1.0), Array({20}, 0.0)});
        LayerRun run(layer_case.layer, layer_case.x, {.device = device, .backward = false}, w);
        run.forward();
        expect_near(run.y()[0], y[0], 1e-3, "y");
      }
    }
}

TEST(BatchNorm, TheVarianceOfOneValueIsNotCorrected) {
  LayerRun run("type: 'BatchNorm'", {Array({1, 2}, {3, 4})}, {}, {Array({2}, 0.0), Array({2}, 0.0), Array({1}, 0.0)});
  run.forward();
  EXPECT_EQ(run.stored_w(0)[1], 4);
  EXPECT_EQ(run.stored_w(1)[1], 0);
}

TEST(BatchNorm, DoesNotTouchTheAverageInTesting) {
  RunOptions options;
  options.phase = caffe::TEST;
  const Arrays w = {Array({2}, 1.0), Array({2}, 2.0), Array({1}, 3.0)};
  LayerRun run("type: 'BatchNorm'", {random({3, 2}, 1)}, options, w);
  run.forward();
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(run.stored_w(i).values, w[i].values);
}

TEST(BatchNorm, KeepsItsPrecisionFarFromZero) {
  Array x = random({4, 20, 9, 9}, 1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = double(float(x[i] + 1000));
  for (const Layout layout : {Layout::kPlain, Layout::kBlocked16}) {
    RunOptions options;
    options.layout = layout;
    LayerRun run("type: 'BatchNorm'", {x}, options);
    run.forward();
    expect_near(run.y()[0], normalise(x, {}, {}), 1e-3, "y");
  }
}

TEST(BatchNorm, ReportsErrors) {
  expect_field_error("type: 'BatchNorm'", {Shape()}, "bottom[0]", "needs at least 1");
  expect_field_error("type: 'BatchNorm' batch_norm_param { eps: -1 }", {{2, 3}}, "batch_norm_param.eps", "negative");
  expect_field_error("type: 'BatchNorm' batch_norm_param { moving_average_fraction: 1.5 }", {{2, 3}},
                     "batch_norm_param.moving_average_fraction", "[0, 1]");
}

}  // namespace
}  // namespace cortado::harness
