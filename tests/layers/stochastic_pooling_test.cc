#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::string layer(const std::string& options) {
  return "type: 'Pooling' pooling_param { pool: STOCHASTIC " + options + " }";
}

/// In testing: the expectation of the draw. Windows extend over the edge, without padding.
Array average(const Array& x, int64_t kernel, int64_t stride) {
  const int64_t planes = x.shape[0] * x.shape[1], height = x.shape[2], width = x.shape[3];
  const auto out = [&](int64_t in) { return int64_t(std::ceil(double(in - kernel) / double(stride))) + 1; };
  Array y({x.shape[0], x.shape[1], out(height), out(width)});
  for (int64_t o = 0; o < planes * out(height) * out(width); ++o) {
    const int64_t plane = o / (out(height) * out(width)), r = o / out(width) % out(height), c = o % out(width);
    double sum = 0, squares = 0;
    for (int64_t h = r * stride; h < std::min(r * stride + kernel, height); ++h)
      for (int64_t w = c * stride; w < std::min(c * stride + kernel, width); ++w) {
        const double v = x[size_t((plane * height + h) * width + w)];
        sum += v;
        squares += v * v;
      }
    y[size_t(o)] = squares / sum;
  }
  return y;
}

TEST(StochasticPooling, TestingUsesTheExpectation) {
  for (const int64_t stride : {1, 2, 3})
    check_layer({
        .layer = layer("kernel_size: 3 stride: " + std::to_string(stride)),
        .x = {random({2, 3, 6, 5}, 1, 0.1, 2)},
        .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {average(x[0], 3, stride)}; },
        .phase = caffe::TEST,
    });
}

TEST(StochasticPooling, DrawsTheOnlyPositiveValue) {
  Array x({2, 2, 4, 4});
  for (size_t window = 0; window < 16; ++window)  // one in each window of 2 x 2
    x[window / 4 * 16 + window / 2 % 2 * 8 + window % 2 * 2 + window % 3 % 2 + window % 5 % 2 * 4] = 1 + double(window);
  LayerCase layer_case{
      .layer = layer("kernel_size: 2 stride: 2"),
      .x = {x},
      .reference = [=](const Arrays& moved, const Arrays&) -> Arrays {
        Array y({2, 2, 2, 2});
        for (size_t i = 0; i < x.size(); ++i)
          if (x[i] > 0) y[i / 16 * 4 + i / 8 % 2 * 2 + i / 2 % 2] += moved[0][i];
        return {y};
      },
  };
  check_layer(layer_case);
}

TEST(StochasticPooling, DrawsInProportion) {
  const int64_t n = 20000;
  Array x({n, 1, 1, 3});
  for (size_t i = 0; i < x.size(); ++i) x[i] = double(i % 3 + 1);
  std::vector<Device> devices = tested_devices();
  devices.emplace_back();
  for (const Device& device : devices) {
    LayerRun run(layer("global_pooling: true"), {x}, {.device = device});
    run.forward();
    double counts[4] = {};
    for (const double value : run.y()[0].values) counts[int(value)] += 1;
    for (int value = 1; value <= 3; ++value) EXPECT_NEAR(counts[value] / double(n), value / 6.0, 0.015);
    run.backward({Array({n, 1, 1, 1}, 2.0)});
    const Array dx = run.dx(0);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(dx[i], run.y()[0][i / 3] == x[i] ? 2 : 0) << i;
  }
}

TEST(StochasticPooling, DrawsNewValuesForEachPassAndSeed) {
  const Array x = random({1, 4, 8, 8}, 1, 0.1, 1);
  const auto drawn = [&](uint64_t seed, uint64_t pass, uint64_t layer_seed) {
    LayerRun run(layer("kernel_size: 4 stride: 4"), {x}, {.seed = seed, .pass = pass, .layer_seed = layer_seed});
    run.forward();
    return run.y()[0];
  };
  EXPECT_TRUE(same_bits(drawn(1, 2, 3), drawn(1, 2, 3)));
  EXPECT_FALSE(same_bits(drawn(1, 2, 3), drawn(2, 2, 3)));
  EXPECT_FALSE(same_bits(drawn(1, 2, 3), drawn(1, 3, 3)));
  EXPECT_FALSE(same_bits(drawn(1, 2, 3), drawn(1, 2, 4)));
}

TEST(StochasticPooling, PropagatesNanAndAcceptsZeros) {
  const Array x({1, 2, 1, 2}, {NAN, 1, 0, 0});
  for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
    LayerRun run(layer("global_pooling: true"), {x}, {.phase = phase});
    run.forward();
    EXPECT_TRUE(std::isnan(run.y()[0][0]));
    EXPECT_EQ(run.y()[0][1], 0);
  }
}

TEST(StochasticPooling, ReportsErrors) {
  expect_field_error(layer("kernel_size: 3 pad: 1"), {{1, 1, 4, 4}}, "pooling_param.pad", "does not support padding");
  expect_field_error(layer("kernel_size: 3 pad_h: 1"), {{1, 1, 4, 4}}, "pooling_param.pad_h",
                     "does not support padding");
  expect_field_error(layer("kernel_size: 5"), {{1, 1, 4, 4}}, "pooling_param.kernel_size",
                     "larger than its padded input");
  expect_field_error(layer("kernel_size: 2") + " top: 'a' top: 'b'", {{1, 1, 4, 4}}, "top[1]", "only MAX");
}

}  // namespace
}  // namespace cortado::harness
