#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

struct Block {
  size_t steps, initial, growth;
  bool bottleneck = false, average = false;
  int64_t kernel_h = 3, kernel_w = 3;

  size_t before(size_t step) const { return initial + step * growth; }
  std::string layer(const std::string& more = "") const {
    return "type: 'DenseBlock' denseblock_param { numTransition: " + std::to_string(steps) +
           " initChannel: " + std::to_string(initial) + " growthRate: " + std::to_string(growth) +
           (bottleneck ? " use_BC: true " : " ") + more + " }";
  }
};

struct Norm {
  const Array &gamma, &beta, &means, &variances, &factor;
};

/// relu(bn(x)) by its definition, with the batch's statistics or stored ones.
Array normalised(const Array& x, const Norm& norm, bool average) {
  const size_t images = size_t(x.shape[0]), channels = size_t(x.shape[1]), plane = x.size() / images / channels;
  Array y(x.shape);
  for (size_t c = 0; c < channels; ++c) {
    const auto each = [&](const auto& use) {
      for (size_t n = 0; n < images; ++n)
        for (size_t i = 0; i < plane; ++i) use((n * channels + c) * plane + i);
    };
    double mean = norm.means[c] / norm.factor[0], variance = norm.variances[c] / norm.factor[0];
    if (!average) {
      const double values = double(images * plane);
      mean = variance = 0;
      each([&](size_t i) { mean += x[i] / values; });
      each([&](size_t i) { variance += (x[i] - mean) * (x[i] - mean) / values; });
    }
    each([&](size_t i) {
      y[i] = std::max(0.0, (x[i] - mean) / std::sqrt(variance + 1e-5) * norm.gamma[c] + norm.beta[c]);
    });
  }
  return y;
}

/// A size-preserving convolution, by its definition.
Array convolved(const Array& x, const Array& w) {
  const int64_t images = x.shape[0], channels = x.shape[1], height = x.shape[2], width = x.shape[3];
  Array y({images, w.shape[0], height, width});
  for (int64_t n = 0, at = 0; n < images; ++n)
    for (int64_t k = 0; k < w.shape[0]; ++k)
      for (int64_t h = 0; h < height; ++h)
        for (int64_t v = 0; v < width; ++v, ++at)
          for (int64_t c = 0; c < channels; ++c)
            for (int64_t i = 0; i < w.shape[2]; ++i)
              for (int64_t j = 0; j < w.shape[3]; ++j) {
                const int64_t row = h + i - w.shape[2] / 2, column = v + j - w.shape[3] / 2;
                if (row < 0 || row >= height || column < 0 || column >= width) continue;
                y[size_t(at)] += x[size_t(((n * channels + c) * height + row) * width + column)] *
                                 w[size_t(((k * channels + c) * w.shape[2] + i) * w.shape[3] + j)];
              }
  return y;
}

/// The first channels of a and all of b.
Array joined(const Array& a, int64_t of_a, const Array& b) {
  const int64_t images = a.shape[0], plane = a.shape.count(2);
  Array y({images, of_a + b.shape[1], a.shape[2], a.shape[3]});
  auto to = y.values.begin();
  for (int64_t n = 0; n < images; ++n) {
    to = std::copy_n(a.values.begin() + n * a.shape[1] * plane, of_a * plane, to);
    to = std::copy_n(b.values.begin() + n * b.shape[1] * plane, b.shape[1] * plane, to);
  }
  return y;
}

Array dense(const Array& x, const Arrays& w, const Block& block) {
  const auto weight = [&](size_t kind, size_t step) -> const Array& { return w[kind * block.steps + step]; };
  const auto norm = [&](size_t kind, size_t step) -> Norm {
    return {weight(kind, step), weight(kind + 1, step), weight(kind + 2, step), weight(kind + 3, step), w.back()};
  };
  Array y = joined(x, int64_t(block.initial), Array({x.shape[0], 0, x.shape[2], x.shape[3]}));
  for (size_t step = 0; step < block.steps; ++step) {
    Array seen = normalised(y, norm(1, step), block.average);
    if (block.bottleneck) seen = normalised(convolved(seen, weight(5, step)), norm(6, step), block.average);
    y = joined(y, y.shape[1], convolved(seen, weight(0, step)));
  }
  return y;
}

/// Weights in the layer's order; variances and the factor of averages above 0.
Arrays weights_of(const Block& block) {
  Arrays w;
  uint64_t key = 10;
  const auto add = [&](const auto& shape_of, double low, double high) {
    for (size_t step = 0; step < block.steps; ++step) w.push_back(random(shape_of(step), key++, low, high));
  };
  const int64_t growth = int64_t(block.growth), middle = 4 * growth;
  const auto before = [&](size_t step) { return Shape{1, int64_t(block.before(step)), 1, 1}; };
  const auto between = [&](size_t) { return Shape{1, middle, 1, 1}; };
  const auto add_norm = [&](const auto& shape) {
    add(shape, 0.5, 1.5), add(shape, 0.2, 0.7), add(shape, -1, 1), add(shape, 1, 3);
  };
  add(
      [&](size_t step) {
        return Shape{growth, block.bottleneck ? middle : int64_t(block.before(step)), block.kernel_h, block.kernel_w};
      },
      -0.5, 0.5);
  add_norm(before);
  if (block.bottleneck) {
    add([&](size_t step) { return Shape{middle, int64_t(block.before(step)), 1, 1}; }, -0.5, 0.5);
    add_norm(between);
  }
  w.push_back(Array({1}, 2.5));
  return w;
}

LayerCase block_case(const Block& block, const Shape& shape, const std::string& more = "") {
  return {
      .layer = block.layer(more),
      .x = {random(shape, 1)},
      .reference = [=](const Arrays& x, const Arrays& w) -> Arrays { return {dense(x[0], w, block)}; },
      .w = weights_of(block),
      .phase = block.average ? caffe::TEST : caffe::TRAIN,
      .tolerance = 2e-4,
      .same_bits_for_any_threads = false,  // nor are the gradients of convolutions
  };
}

TEST(DenseBlock, AppendsChannelsComputedFromAllPrevious) {
  check_layer(block_case({.steps = 3, .initial = 4, .growth = 2}, {2, 4, 3, 4}));
  check_layer(block_case({.steps = 1, .initial = 1, .growth = 1}, {3, 1, 2, 2}));
  check_layer(block_case({.steps = 2, .initial = 3, .growth = 2, .kernel_h = 1, .kernel_w = 5}, {2, 3, 2, 6},
                         "filter_H: 1 pad_h: 0 filter_W: 5 pad_w: 2"));
}

TEST(DenseBlock, UsesTheAverageInTesting) {
  check_layer(block_case({.steps = 2, .initial = 4, .growth = 3, .average = true}, {2, 4, 3, 4}));
  check_layer(block_case({.steps = 2, .initial = 2, .growth = 1, .bottleneck = true, .average = true}, {2, 2, 3, 3}));
}

TEST(DenseBlock, SupportsBottleneckConvolutions) {
  check_layer(block_case({.steps = 2, .initial = 3, .growth = 2, .bottleneck = true}, {2, 3, 3, 4}));
}

TEST(DenseBlock, TakesTheFirstChannels) {
  check_layer(block_case({.steps = 2, .initial = 2, .growth = 2}, {2, 5, 3, 3}));
}

TEST(DenseBlock, KeepsARunningAverageAsBatchNormDoes) {
  const Block block{.steps = 2, .initial = 2, .growth = 1};
  Arrays w = weights_of(block);
  const Array x = random({3, 2, 2, 5}, 1), y = dense(x, w, block);
  LayerRun run(block.layer("moving_average_fraction: 0.5"), {x}, {}, w);
  run.forward();
  const double values = 30;
  for (size_t step = 0; step < 2; ++step)
    for (size_t c = 0; c < block.before(step); ++c) {
      double mean = 0, square = 0;
      for (size_t n = 0; n < 3; ++n)
        for (size_t i = 0; i < 10; ++i) {
          const double v = y[(n * 4 + c) * 10 + i];
          mean += v / values, square += v * v / values;
        }
      const double variance = (square - mean * mean) * values / (values - 1);
      EXPECT_NEAR(run.stored_w(6 + step)[c], 0.5 * w[6 + step][c] + mean, 1e-5);
      EXPECT_NEAR(run.stored_w(8 + step)[c], 0.5 * w[8 + step][c] + variance, 1e-5);
    }
  EXPECT_EQ(run.stored_w(10)[0], 0.5 * 2.5 + 1);
}

TEST(DenseBlock, DropsValuesOfEachStep) {
  const Block block{.steps = 2, .initial = 2, .growth = 4};
  const Array x = random({2, 2, 8, 8}, 1);
  const std::string text = block.layer("use_dropout: true dropout_amount: 0.25");
  Arrays w = weights_of(block);
  LayerRun run(text, {x}, {}, w), again(text, {x}, {}, w), plain(block.layer(), {x}, {}, w);
  run.forward(), again.forward(), plain.forward();
  EXPECT_TRUE(same_bits(run.y()[0], again.y()[0]));
  size_t dropped = 0, all = 0;
  for (size_t i = 0; i < run.y()[0].size(); ++i) {
    const size_t channel = i / 64 % 10;
    if (channel < 2) {
      EXPECT_EQ(run.y()[0][i], x[i / 640 * 128 + i % 640]);
    }
    if (channel < 2 || channel > 5) continue;  // the second step reads the dropped values of the first
    ++all;
    dropped += run.y()[0][i] == 0;
    if (run.y()[0][i] != 0) {
      EXPECT_NEAR(run.y()[0][i], plain.y()[0][i] / 0.75, 1e-5);
    }
  }
  EXPECT_NEAR(double(dropped) / double(all), 0.25, 0.08);
  const std::string test = block.layer("use_dropout: true dropout_amount: 0.25");
  LayerRun tested(test, {x}, {.phase = caffe::TEST, .backward = false}, w);
  LayerRun other(block.layer(), {x}, {.phase = caffe::TEST, .backward = false}, w);
  tested.forward(), other.forward();
  EXPECT_TRUE(same_bits(tested.y()[0], other.y()[0]));
}

TEST(DenseBlock, RejectsInvalidOptions) {
  const Block block{.steps = 2, .initial = 4, .growth = 2};
  const auto expect = [](const std::string& layer, const Shape& x, const std::string& field, const std::string& words) {
    expect_field_error(layer, {x}, field.empty() ? "denseblock_param" : "denseblock_param." + field, words);
  };
  const Shape x = {2, 4, 3, 3};
  expect("type: 'DenseBlock' denseblock_param { initChannel: 4 growthRate: 2 }", x, "", "numTransition is missing");
  expect(Block{.steps = 5000, .initial = 4, .growth = 2}.layer(), x, "numTransition", "at most 4096");
  expect(Block{.steps = 2, .initial = 5, .growth = 2}.layer(), x, "initChannel", "bottom[0] has 4 channels");
  expect(block.layer("conv_verticalStride: 2"), x, "conv_verticalStride", "keeps the size");
  expect(block.layer("filter_H: 5"), x, "filter_H", "a filter of 5 with a pad of 1");
  expect(block.layer("filter_W: 2"), x, "filter_W", "a filter of 2");
  expect(block.layer("dropout_amount: 1"), x, "dropout_amount", "must lie in [0, 1)");
  expect(block.layer("moving_average_fraction: 2"), x, "moving_average_fraction", "must lie in [0, 1]");
  expect(block.layer("Filter_Filler { type: 'no' }"), x, "Filter_Filler.type", "no");
  expect_field_error(block.layer(), {{2, 4}}, "bottom[0]", "must be images");
}

}  // namespace
}  // namespace cortado::harness
