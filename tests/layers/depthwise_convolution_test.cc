#include <gtest/gtest.h>

#include <algorithm>

#include "tests/harness/layer_harness.h"
#include "tests/harness/windows.h"

namespace cortado::harness {
namespace {

/// 3x3 windows, padded by 1, with stride `stride`: filter k reads only channel k / (filters per channel).
Array filtered(const Array& x, const Array& w, const Array& bias, int64_t stride, bool relu) {
  const int64_t n = x.shape[0], c = x.shape[1], h = x.shape[2], width = x.shape[3], k = w.shape[0];
  const int64_t oh = (h - 1) / stride + 1, ow = (width - 1) / stride + 1;
  Array y({n, k, oh, ow});
  for (int64_t at = 0; at < y.shape.count(); ++at) {
    const int64_t i = at / (k * oh * ow), f = at / (oh * ow) % k, r = at / ow % oh, s = at % ow;
    double sum = bias[size_t(f)];
    for (int64_t p = 0; p < 3; ++p)
      for (int64_t q = 0; q < 3; ++q) {
        const int64_t a = r * stride - 1 + p, b = s * stride - 1 + q;
        if (a < 0 || a >= h || b < 0 || b >= width) continue;
        sum += x[size_t(((i * c + f / (k / c)) * h + a) * width + b)] * w[size_t((f * 3 + p) * 3 + q)];
      }
    y[size_t(at)] = relu ? std::max(sum, 0.0) : sum;
  }
  return y;
}

LayerCase depthwise(const std::string& options, const Shape& x, int64_t stride = 1) {
  return {.layer = "type: 'DepthwiseConvolution' convolution_param { kernel_size: 3 pad: 1 " + options + " }",
          .x = {random(x, 1)},
          .reference = [stride](const Arrays& x, const Arrays& w) -> Arrays {
            return {filtered(x[0], w[0], w[1], stride, false)};
          },
          .same_bits_for_any_threads = false};
}

TEST(DepthwiseConvolution, HasAGroupForEachChannel) {
  check_layer(depthwise("num_output: 20 group: 20", {2, 20, 5, 4}));
  check_layer(depthwise("num_output: 32 stride: 2", {1, 32, 5, 6}, 2));
}

TEST(DepthwiseConvolution, MayHaveSeveralFiltersForAChannel) { check_layer(depthwise("num_output: 12", {2, 4, 5, 5})); }

/// By the definition, with one filter for each channel.
TEST(DepthwiseConvolution, DistinguishesHeightFromWidth) {
  const std::vector<WindowAxis> axes = {{8, 3, 1, 2, 1}, {7, 2, 2, 1, 3}};
  const int64_t ins = 8 * 7, taps = 3 * 2, outs = axes[0].out() * axes[1].out();
  check_layer({.layer = "type: 'DepthwiseConvolution' convolution_param { kernel_size: [3, 2] stride: [1, 2] "
                        "pad: [2, 1] dilation: [1, 3] }",
               .x = {random({2, 20, 8, 7}, 1)},
               .reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
                 Array y({2, 20, axes[0].out(), axes[1].out()});
                 for (size_t i = 0; i < y.size(); ++i) y[i] = w[1][i / size_t(outs) % 20];
                 each_meeting(axes, [&](int64_t in, int64_t tap, int64_t out) {
                   for (int64_t i = 0; i < 40; ++i)
                     y[size_t(i * outs + out)] += x[0][size_t(i * ins + in)] * w[0][size_t(i % 20 * taps + tap)];
                 });
                 return {y};
               },
               .same_bits_for_any_threads = false});
}

TEST(DepthwiseConvolution, InfersOmittedOptions) {
  check_layer(depthwise("", {2, 5, 4, 4}));
  const MadeLayer made("type: 'DepthwiseConvolution' convolution_param { kernel_size: 3 bias_term: false }", "",
                       {{2, 16, 5, 5}});
  ASSERT_EQ(made.shapes.w.size(), 1u);
  EXPECT_EQ(made.shapes.w[0].shape, (Shape{16, 1, 3, 3}));
}

TEST(DepthwiseConvolution, FusesARelu) {
  Array bias({20}, 4);  // far from the kink: every other channel is on, the others off
  for (size_t k = 1; k < 20; k += 2) bias[k] = -4;
  LayerCase layer_case = depthwise("", {2, 20, 5, 5});
  layer_case.reference = [](const Arrays& x, const Arrays& w) -> Arrays {
    return {filtered(x[0], w[0], w[1], 1, true)};
  };
  layer_case.w = {random({20, 1, 3, 3}, 3, -0.2, 0.2), bias};
  layer_case.follower = "type: 'ReLU'";
  check_layer(layer_case);
}

/// Bit-identical to the corresponding Convolution.
TEST(DepthwiseConvolution, IsAConvolutionWithGroups) {
  const std::string options = "kernel_size: 3 pad: 1 num_output: 32";
  const Arrays x = {random({2, 32, 6, 6}, 1)}, w = {random({32, 1, 3, 3}, 2), random({32}, 3)};
  RunOptions blocked;
  blocked.layout = Layout::kBlocked16;
  LayerRun depthwise("type: 'DepthwiseConvolution' convolution_param { " + options + " }", x, blocked, w);
  LayerRun groups("type: 'Convolution' convolution_param { group: 32 " + options + " }", x, blocked, w);
  depthwise.forward();
  groups.forward();
  EXPECT_TRUE(same_bits(depthwise.y()[0], groups.y()[0]));
  EXPECT_EQ(depthwise.needs().algorithm, groups.needs().algorithm);
  depthwise.backward({random({2, 32, 6, 6}, 4)});
  groups.backward({random({2, 32, 6, 6}, 4)});
  EXPECT_TRUE(same_bits(depthwise.dx(0), groups.dx(0)));
  EXPECT_TRUE(same_bits(depthwise.dw(0), groups.dw(0)));
}

TEST(DepthwiseConvolution, ReportsErrors) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words,
                          const Shape& x = {2, 6, 5, 5}) {
    expect_field_error("type: 'DepthwiseConvolution' convolution_param { " + options + " }", {x},
                       field.empty()     ? "convolution_param"
                       : field[0] == 'b' ? field
                                         : "convolution_param." + field,
                       words);
  };
  refuses("kernel_size: 3 group: 3", "group", "group is 3, but bottom[0] has 6 channels");
  refuses("kernel_size: 3 group: 0", "group", "group is 0");
  refuses("kernel_size: 3 num_output: 8", "group", "does not divide num_output, 8");
  refuses("kernel_size: 3 num_output: 0", "num_output", "num_output is 0");
  refuses("", "", "kernel size is missing");
  refuses("kernel_size: 1", "bottom[0]", "no channels", {2, 0, 5, 5});
  refuses("kernel_size: 1", "bottom[0]", "too large", {1, int64_t(1) << 33, 1, 1});
}

}  // namespace
}  // namespace cortado::harness
