#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

int64_t channel_of(const Shape& shape, size_t i) { return int64_t(i) / shape.count(2) % shape[1]; }

/// Mean and biased variance of each channel.
Arrays statistics(const Array& x) {
  const Shape shape = {1, x.shape[1], 1, 1};
  const double values = double(x.size()) / double(x.shape[1]);
  Array mean(shape), variance(shape);
  for (size_t i = 0; i < x.size(); ++i) mean[size_t(channel_of(x.shape, i))] += x[i] / values;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = size_t(channel_of(x.shape, i));
    variance[c] += (x[i] - mean[c]) * (x[i] - mean[c]) / values;
  }
  return {mean, variance};
}

/// moments: mean and variance.
Array normalised(const Array& x, const Arrays& moments, double eps, const Array& factor, const Array& term) {
  Array y(x.shape);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = size_t(channel_of(x.shape, i));
    y[i] = (x[i] - moments[0][c]) / std::sqrt(moments[1][c] + eps) * factor[c] + term[c];
  }
  return y;
}

const std::vector<Shape> kShapes = {{2, 20, 3, 4}, {3, 32, 5, 7}, {6, 37}, {2, 3, 4, 5, 2}};

std::string layer(const std::string& options) { return "type: 'BN' bn_param { " + options + " }"; }

LayerCase by_batch(const std::string& options, const Shape& shape, double eps) {
  return {
      .layer = layer(options),
      .x = {random(shape, 1, -1, 3)},
      .reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
        return {normalised(x[0], statistics(x[0]), eps, w[0], w[1])};
      },
      .channels_last = true,
  };
}

LayerCase by_running(const std::string& options, const Shape& shape, caffe::Phase phase) {
  const Shape channels = {1, shape[1], 1, 1};
  return {
      .layer = layer(options),
      .x = {random(shape, 1, -1, 3)},
      .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
        return {normalised(x[0], {w[2], w[3]}, 1e-5, w[0], w[1])};
      },
      .w = {random(channels, 2), random(channels, 3), random(channels, 4), random(channels, 5, 1, 3)},
      .phase = phase,
      .channels_last = true,
  };
}

TEST(Bn, NormalizesByTheBatchInTraining) {
  for (const Shape& shape : kShapes) check_layer(by_batch("slope_filler { value: 1 }", shape, 1e-5));
  check_layer(by_batch("", {2, 20, 3, 4}, 1e-5));
  check_layer(by_batch("eps: 0.5 momentum: 0.95 engine: CUDNN", {2, 20, 3, 4}, 0.5));
}

TEST(Bn, NormalizesByTheRunningStatisticsInTestingAndIfFrozen) {
  for (const Shape& shape : kShapes) {
    check_layer(by_running("frozen: true momentum: 0.95", shape, caffe::TRAIN));
    check_layer(by_running("momentum: 0.95", shape, caffe::TEST));
  }
  check_layer(by_running("moving_average: true", {2, 20, 3, 4}, caffe::TEST));
}

TEST(Bn, WithoutAMovingAverageTestsUseTheirBatch) {
  LayerCase layer_case = by_batch("slope_filler { value: 1 } moving_average: false", {2, 20, 3, 4}, 1e-5);
  layer_case.phase = caffe::TEST;
  check_layer(layer_case);
}

TEST(Bn, KeepsRunningStatistics) {
  const Array x = random({3, 2, 2, 5}, 1, -1, 3);
  const Arrays moments = statistics(x);
  std::vector<Device> devices = tested_devices();
  devices.push_back({});
  const Shape channels = {1, 2, 1, 1};
  for (const Device& device : devices) {
    LayerRun run(layer("momentum: 0.75"), {x}, {.device = device},
                 {Array(channels, 1.0), Array(channels, 0.0), Array(channels, 4.0), Array(channels, 2.0)});
    run.forward();
    run.forward();
    for (size_t c = 0; c < 2; ++c) {
      EXPECT_NEAR(run.stored_w(2)[c], 0.5625 * 4 + 0.4375 * moments[0][c], 1e-5);
      EXPECT_NEAR(run.stored_w(3)[c], 0.5625 * 2 + 0.4375 * moments[1][c], 1e-5);
    }
  }
}

TEST(Bn, FrozenStatisticsStay) {
  LayerRun run(layer("frozen: true"), {random({3, 2}, 1)});
  const Arrays before = run.w();
  run.forward();
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(run.stored_w(i).values, before[i].values);
}

TEST(Bn, SegNetsLearnUsesTheBatchInTestingToo) {
  for (const std::string options : {"bn_mode: LEARN", "scale_filler { value: 1 }", "shift_filler { value: 0.001 }"})
    for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
      LayerCase layer_case = by_batch(options, {2, 20, 3, 4}, 1e-9);
      layer_case.phase = phase;
      check_layer(layer_case);
    }
  check_layer(by_batch("bn_mode: LEARN eps: 0.5", {2, 20, 3, 4}, 0.5));
}

TEST(Bn, SegNetsLearnHasASmallEps) {
  LayerRun run(layer("bn_mode: LEARN"), {Array({2, 1}, {0, 1e-3})}, {}, {Array({1, 1, 1, 1}, 1), Array({1, 1, 1, 1})});
  run.forward();
  EXPECT_NEAR(run.y()[0][1], 5e-4 / std::sqrt(2.5e-7 + 1e-9), 1e-5);
}

/// The second and third top, for SegNet's scripts. Gradients flow through the first only.
TEST(Bn, HasTheBatchsMeanAndVarianceAsTops) {
  const std::string tops = "top: 'y' top: 'mean' top: 'variance' ";
  for (const std::string options : {"", "bn_mode: LEARN", "scale_filler { value: 1 }"})
    for (const Shape& shape : kShapes)
      for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
        LayerCase layer_case = by_batch(options, shape, 1e-9);
        layer_case.layer = tops + layer_case.layer;
        layer_case.phase = phase;
        layer_case.reference = [](const Arrays& x, const Arrays& w) -> Arrays {
          const Arrays moments = statistics(x[0]);
          return {normalised(x[0], moments, 1e-9, w[0], w[1]), moments[0], moments[1]};
        };
        layer_case.potential = [](const Arrays& x, const Arrays& w) -> Arrays {
          const Array none(Shape{1, x[0].shape[1], 1, 1});
          return {normalised(x[0], statistics(x[0]), 1e-9, w[0], w[1]), none, none};
        };
        check_layer(layer_case);
      }
}

TEST(Bn, RefusesTopsThatItDoesNotHave) {
  expect_field_error("top: 'y' top: 'm' " + layer("bn_mode: LEARN"), {{2, 3}}, "top[1]", "1 or 3 tops");
  for (const std::string options : {"momentum: 0.9", "bn_mode: INFERENCE", "frozen: true"})
    expect_field_error("top: 'y' top: 'm' top: 'v' " + layer(options), {{2, 3}}, "top[1]", "its batch's statistics");
}

TEST(Bn, SegNetsInferenceIsAFactorAndATerm) {
  for (const Shape& shape : kShapes)
    check_layer({
        .layer = layer("bn_mode: INFERENCE scale_filler { value: 2 }"),
        .x = {random(shape, 1, -1, 3)},
        .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
          const Shape channels = w[0].shape;
          return {normalised(x[0], {Array(channels), Array(channels, 1)}, 0, w[0], w[1])};
        },
        .channels_last = true,
    });
}

TEST(Bn, HasTheBlobsOfItsVariant) {
  const auto fillers = [](const std::string& options) {
    std::vector<float> values;
    for (const WeightSpec& w : MadeLayer(layer(options), "", {{2, 3, 4, 5}}).shapes.w) {
      EXPECT_EQ(w.shape, (Shape{1, 3, 1, 1}));
      EXPECT_EQ(w.learned, values.size() < 2);
      values.push_back(w.filler.value());
    }
    return values;
  };
  EXPECT_EQ(fillers(""), (std::vector<float>{1, 0, 0, 1}));
  EXPECT_EQ(fillers("slope_filler { value: 2 } bias_filler { value: 3 }"), (std::vector<float>{2, 3, 0, 1}));
  EXPECT_EQ(fillers("scale_filler { value: 2 } shift_filler { value: 3 } moving_average: true"),
            (std::vector<float>{2, 3, 0, 1}));
  EXPECT_EQ(fillers("slope_filler { value: 2 } moving_average: false"), (std::vector<float>{2, 0}));
  EXPECT_EQ(fillers("bn_mode: LEARN"), (std::vector<float>{1, 0}));
  EXPECT_EQ(fillers("scale_filler { value: 2 } shift_filler { value: 3 }"), (std::vector<float>{2, 3}));
}

TEST(Bn, FusesAReluAndASum) {
  LayerCase layer_case = by_batch("slope_filler { value: 1 }", {2, 20, 3, 4}, 1e-5);
  const auto alone = layer_case.reference;
  layer_case.follower = "type: 'ReLU'";
  layer_case.reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
    return {map(alone(x, w)[0], [](double v) { return std::max(v, 0.0); })};
  };
  check_layer(layer_case);
  layer_case.follower = "type: 'Eltwise'";
  layer_case.x.push_back(random({2, 20, 3, 4}, 6));
  layer_case.reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
    Array y = alone(x, w)[0];
    for (size_t i = 0; i < y.size(); ++i) y[i] += x[1][i];
    return {y};
  };
  check_layer(layer_case);
}

/// A convolution before it fuses it in frozen nets.
TEST(Bn, WithoutTheBatchsStatisticsItIsAnAffineStep) {
  const auto step = [](const std::string& options, caffe::Phase phase = caffe::TRAIN) {
    return MadeLayer(layer(options), "", {{2, 3, 4, 5}}, phase).layer->as_post_op();
  };
  const kernels::PostOp running =
      kernels::ChannelAffine{.normalises = true, .scales = true, .shifts = true, .ends_with_mean = true, .eps = 1e-5f};
  EXPECT_EQ(step("bn_mode: INFERENCE"), kernels::PostOp(kernels::ChannelAffine{.scales = true, .shifts = true}));
  EXPECT_EQ(step("frozen: true"), running);
  EXPECT_EQ(step("", caffe::TEST), running);
  EXPECT_FALSE(step(""));
  EXPECT_FALSE(step("bn_mode: LEARN", caffe::TEST));
}

TEST(Bn, ReportsErrors) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error(layer(options), {{2, 3, 4, 5}}, "bn_param." + field, words);
  };
  refuses("eps: -1", "eps", "eps must not be negative");
  refuses("momentum: 1.5", "momentum", "momentum must lie in [0, 1]");
  refuses("var_eps: -1", "var_eps", "eps must not be negative");
  refuses("decay: 1.5", "decay", "momentum must lie in [0, 1]");
  refuses("eps: 1e-3 var_eps: 1e-3", "eps", "var_eps is set as well");
  refuses("momentum: 0.9 decay: 0.9", "momentum", "decay is set as well");
  refuses("moving_average: false decay: 0.9", "decay", "does not keep running statistics");
  refuses("bn_mode: LEARN frozen: true", "frozen", "does not keep running statistics");
  refuses("moving_average: false momentum: 0.9", "momentum", "does not keep running statistics");
  refuses("bn_mode: LEARN moving_average: true", "moving_average", "moving_average contradicts bn_mode");
  refuses("scale_filler { } slope_filler { }", "slope_filler", "scale_filler is set as well");
  refuses("shift_filler { } bias_filler { }", "bias_filler", "shift_filler is set as well");
  refuses("bn_mode: INFERENCE eps: 1e-3", "eps", "does not normalize");
  refuses("slope_filler { type: 'msr' }", "slope_filler.type", "filler 'msr' is unknown");
  expect_field_error("type: 'BN'", {{5}}, "bottom[0]", "needs at least 2");
}

}  // namespace
}  // namespace cortado::harness
