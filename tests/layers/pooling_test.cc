#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

struct Window {
  int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
};

/// The number of windows on one side, by a loop: the next window starts while something is left to cover.
int64_t outputs(int64_t in, int64_t kernel, int64_t stride, int64_t pad, bool up) {
  int64_t n = 1;
  while (up ? (n - 1) * stride + kernel < in + 2 * pad : n * stride + kernel <= in + 2 * pad) ++n;
  if (pad > 0 && (n - 1) * stride >= in + pad) --n;
  return n;
}

/// Pooling by its definition, window by window; y[1] is the positions.
Arrays pool(const Array& x, const Window& k, bool average, bool up = true, bool counts_padding = true) {
  const int64_t planes = x.shape[0] * x.shape[1], h = x.shape[2], w = x.shape[3];
  const int64_t out_h = outputs(h, k.kernel_h, k.stride_h, k.pad_h, up),
                out_w = outputs(w, k.kernel_w, k.stride_w, k.pad_w, up);
  const Shape shape = {x.shape[0], x.shape[1], out_h, out_w};
  Arrays y = {Array(shape), Array(shape)};
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t oh = 0; oh < out_h; ++oh)
      for (int64_t ow = 0; ow < out_w; ++ow) {
        const size_t out = size_t((p * out_h + oh) * out_w + ow);
        double sum = 0, best = -DBL_MAX, area = 0, place = -1;
        for (int64_t i = oh * k.stride_h - k.pad_h; i < oh * k.stride_h - k.pad_h + k.kernel_h; ++i)
          for (int64_t j = ow * k.stride_w - k.pad_w; j < ow * k.stride_w - k.pad_w + k.kernel_w; ++j) {
            const bool outside = i < 0 || i >= h || j < 0 || j >= w;
            if (counts_padding ? i < h + k.pad_h && j < w + k.pad_w : !outside) area += 1;
            if (outside) continue;
            const double v = x[size_t((p * h + i) * w + j)];
            sum += v;
            if (v > best) best = v, place = double(i * w + j);
          }
        y[0][out] = average ? (area > 0 ? sum / area : 0) : (place < 0 ? 0 : best);
        y[1][out] = place;
      }
  return y;
}

LayerCase pooling(const std::string& options, const Window& window, const Shape& shape, bool average, bool up = true) {
  return {
      .layer = "type: 'Pooling' pooling_param { " + std::string(average ? "pool: AVE " : "pool: MAX ") + options + " }",
      .x = {distinct(shape, 3, 0.01)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {pool(x[0], window, average, up)[0]}; },
  };
}

void check_both(const std::string& options, const Window& window, const Shape& shape, bool up = true) {
  for (const bool average : {false, true}) {
    SCOPED_TRACE((average ? "AVE " : "MAX ") + options + " of " + shape.str());
    check_layer(pooling(options, window, shape, average, up));
  }
}

TEST(Pooling, TakesTheMaximumAndTheAverage) {
  check_both("kernel_size: 2 stride: 2", {2, 2, 2, 2, 0, 0}, {2, 20, 6, 8});
  check_both("kernel_size: 3 stride: 1 pad: 1", {3, 3, 1, 1, 1, 1}, {1, 20, 5, 4});
}

TEST(Pooling, RoundsTheNumberOfOutputsUp) {
  check_both("kernel_size: 3 stride: 2", {3, 3, 2, 2, 0, 0}, {1, 20, 6, 8});
  check_both("kernel_size: 2 stride: 2", {2, 2, 2, 2, 0, 0}, {1, 3, 7, 5});
}

TEST(Pooling, OneWindowLargerThanItsInputIsRoundedUpTo) {
  check_both("kernel_size: 2 stride: 2", {2, 2, 2, 2, 0, 0}, {2, 20, 1, 1});
  check_both("kernel_size: 3 stride: 2", {3, 3, 2, 2, 0, 0}, {1, 16, 2, 5});
  check_both("kernel_size: 5 stride: 3 pad: 1", {5, 5, 3, 3, 1, 1}, {1, 3, 2, 1});
}

TEST(Pooling, SupportsRoundingDown) {
  const Window window = {3, 3, 2, 2, 0, 0}, padded = {3, 3, 2, 2, 1, 1};
  for (const std::string down : {"round_mode: FLOOR", "ceil_mode: false", "torch_pooling: true",
                                 "round_mode: FLOOR ceil_mode: false torch_pooling: true"}) {
    check_both("kernel_size: 3 stride: 2 " + down, window, {1, 20, 6, 8}, false);
    check_both("kernel_size: 3 stride: 2 pad: 1 " + down, padded, {1, 20, 6, 8}, false);
  }
  for (const std::string up : {"round_mode: CEIL", "ceil_mode: true", "torch_pooling: false"})
    check_both("kernel_size: 3 stride: 2 " + up, window, {1, 3, 6, 8}, true);
  check_both("kernel_size: 3 stride: 2 axis: -3", window, {1, 3, 6, 8}, true);
}

TEST(Pooling, SupportsDivisorsWithoutPadding) {
  const auto check = [](const std::string& options, const Window& window, const Shape& shape, bool up) {
    SCOPED_TRACE(options + " of " + shape.str());
    LayerCase layer_case = pooling("avg_include_pad: false " + options, window, shape, true);
    layer_case.reference = [=](const Arrays& x, const Arrays&) -> Arrays {
      return {pool(x[0], window, true, up, false)[0]};
    };
    check_layer(layer_case);
  };
  check("kernel_size: 3 stride: 2 pad: 1", {3, 3, 2, 2, 1, 1}, {1, 20, 6, 8}, true);
  check("kernel_size: 3 stride: 1 pad: 1", {3, 3, 1, 1, 1, 1}, {1, 20, 5, 4}, true);
  check("kernel_size: 4 stride: 3 pad: 2", {4, 4, 3, 3, 2, 2}, {1, 3, 6, 7}, true);
  check("kernel_size: 3 stride: 2 pad: 1 ceil_mode: false", {3, 3, 2, 2, 1, 1}, {2, 20, 7, 8}, false);
  check("kernel_size: 3 stride: 2", {3, 3, 2, 2, 0, 0}, {1, 20, 6, 8}, true);
}

TEST(Pooling, CountsPaddingButNotBeyondIt) {
  check_both("kernel_size: 3 stride: 2 pad: 1", {3, 3, 2, 2, 1, 1}, {1, 20, 6, 8});
  check_both("kernel_size: 4 stride: 3 pad: 2", {4, 4, 3, 3, 2, 2}, {1, 3, 6, 7});
}

TEST(Pooling, DropsAWindowThatStartsBeyondThePadding) {
  check_both("kernel_size: 2 stride: 2 pad: 1", {2, 2, 2, 2, 1, 1}, {1, 20, 4, 6});
}

TEST(Pooling, TakesRectangles) {
  check_both("kernel_h: 3 kernel_w: 2 stride_h: 1 stride_w: 2 pad_h: 1", {3, 2, 1, 2, 1, 0}, {2, 20, 5, 6});
}

TEST(Pooling, TakesStridesBeyondTheKernel) {
  check_both("kernel_size: 1 stride: 3", {1, 1, 3, 3, 0, 0}, {1, 20, 5, 7});
}

TEST(Pooling, PoolsTheWholeImage) {
  check_both("global_pooling: true", {5, 3, 1, 1, 0, 0}, {2, 20, 5, 3});
  check_both("global_pooling: true", {17, 19, 1, 1, 0, 0}, {1, 20, 17, 19});  // positions that need more than 8 bits
}

TEST(Pooling, ReturnsThePositionsOfTheMaxima) {
  const Window window = {3, 2, 2, 2, 1, 0};
  LayerCase layer_case = {
      .layer = "type: 'Pooling' top: 'y' top: 'place' pooling_param { kernel_h: 3 kernel_w: 2 stride: 2 pad_h: 1 }",
      .x = {distinct({2, 3, 6, 7}, 1, 0.01)},
      .reference = [=](const Arrays& x, const Arrays&) { return pool(x[0], window, false); },
  };
  check_layer(layer_case);
}

TEST(Pooling, OfEqualValuesTheFirstWins) {
  const Array ones({1, 1, 4, 4}, 1.0);
  LayerRun run("type: 'Pooling' top: 'y' top: 'place' pooling_param { kernel_size: 2 stride: 2 }", {ones});
  run.forward();
  EXPECT_EQ(run.y()[1].values, (std::vector<double>{0, 2, 8, 10}));
  for (const Layout layout : {Layout::kPlain, Layout::kBlocked16}) {
    RunOptions options;
    options.layout = layout;
    LayerRun other("type: 'Pooling' pooling_param { kernel_size: 2 stride: 2 }", {ones}, options);
    other.forward();
    other.backward({Array({1, 1, 2, 2}, {1, 2, 3, 4})});
    EXPECT_EQ(other.dx(0).values, (std::vector<double>{1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0}));
  }
}

TEST(Pooling, PropagatesNan) {
  RunOptions blocked;
  blocked.layout = Layout::kBlocked16;
  LayerRun run("type: 'Pooling' pooling_param { kernel_size: 2 }", {Array({1, 1, 2, 2}, NAN)}, blocked);
  run.forward();
  EXPECT_TRUE(std::isnan(run.y()[0][0]));
}

TEST(Pooling, ReportsErrors) {
  const auto expect = [](const std::string& options, const std::string& field, const std::string& words,
                         const Shape& x = {1, 3, 5, 5}) {
    expect_field_error("type: 'Pooling' pooling_param { " + options + " }", {x}, field, words);
  };
  expect("", "pooling_param", "missing");
  expect("kernel_h: 3", "pooling_param.kernel_h", "only one side");
  expect("kernel_size: 0", "pooling_param.kernel_size", "the window is 0");
  expect("kernel_h: 0 kernel_w: 2", "pooling_param.kernel_h", "the window is 0");
  expect("kernel_size: 2 kernel_w: 2", "pooling_param.kernel_w", "contradicts kernel_size");
  expect("kernel_size: 2 stride: 0", "pooling_param.stride", "the stride is 0");
  expect("kernel_size: 2 stride: 1 stride_h: 2", "pooling_param.stride_h", "contradicts stride");
  expect("kernel_size: 2 pad: 1 pad_w: 1", "pooling_param.pad_w", "contradicts pad");
  expect("kernel_size: 2 pad: 2", "pooling_param.pad", "not smaller than the window");
  expect("kernel_size: 7", "pooling_param.kernel_size", "7x7, larger than its padded input 5x5");
  expect("kernel_size: 7 stride: 2", "pooling_param.kernel_size", "7x7, larger than its padded input 5x5");
  expect("kernel_size: 6 stride: 2 round_mode: FLOOR", "pooling_param.kernel_size", "6x6, larger");
  expect("global_pooling: true kernel_size: 5", "pooling_param.kernel_size", "contradicts global_pooling");
  expect("global_pooling: true pad: 1", "pooling_param.pad", "does not support padding");
  expect("global_pooling: true stride: 2", "pooling_param.stride", "a single window");
  expect("kernel_size: 70000 pad: 69999 stride: 70000", "pooling_param.kernel_size", "too large");
  expect("kernel_size: 2", "bottom[0]", "needs N x C x H x W", {3, 5});
  expect("kernel_size: 2 axis: 2", "pooling_param.axis", "axis 2");
  expect("kernel_size: 2 round_mode: FLOOR ceil_mode: true", "pooling_param.ceil_mode", "contradicts round_mode");
  expect("kernel_size: 2 round_mode: CEIL ceil_mode: false", "pooling_param.ceil_mode", "contradicts round_mode");
  expect("kernel_size: 2 torch_pooling: true ceil_mode: true", "pooling_param.ceil_mode", "contradicts torch_pooling");
  expect("kernel_size: 2 torch_pooling: true round_mode: CEIL", "pooling_param.torch_pooling", "contradicts round");
  expect("kernel_size: 2 stride_3d: 2", "pooling_param.stride_3d", "needs kernel_size_3d");
  expect("kernel_size: 2 pad_3d: 1", "pooling_param.pad_3d", "needs kernel_size_3d");
  expect_field_error("type: 'Pooling' top: 'a' top: 'b' pooling_param { kernel_size: 2 pool: AVE }", {{1, 1, 4, 4}},
                     "top[1]", "only MAX");
}

}  // namespace
}  // namespace cortado::harness
