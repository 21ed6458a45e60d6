#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"
#include "tests/harness/windows.h"

namespace cortado::harness {
namespace {

struct Window {
  int64_t kernel_h, kernel_w, stride = 1, pad = 0, dilation = 1, groups = 1;
};

/// Every value of x adds a scaled kernel to y. x, w and bias in the user's order; an x of three axes has no h.
Array deconvolve(const Array& x, const Array& w, const Array* bias, const Window& o) {
  const bool flat = x.shape.axes() == 3;
  const int64_t n = x.shape[0], c = x.shape[1], h = flat ? 1 : x.shape[2], width = x.shape[flat ? 2 : 3];
  const int64_t k_of = w.shape[1], k = k_of * o.groups, stride_h = flat ? 1 : o.stride, pad_h = flat ? 0 : o.pad;
  const int64_t oh = stride_h * (h - 1) + o.dilation * (o.kernel_h - 1) + 1 - 2 * pad_h;
  const int64_t ow = o.stride * (width - 1) + o.dilation * (o.kernel_w - 1) + 1 - 2 * o.pad;
  Array y(flat ? Shape{n, k, ow} : Shape{n, k, oh, ow});
  for (size_t i = 0; bias && i < y.size(); ++i) y[i] = (*bias)[i / size_t(oh * ow) % size_t(k)];
  for (int64_t at = 0; at < x.shape.count(); ++at) {
    const int64_t i = at / (c * h * width), ch = at / (h * width) % c, r = at / width % h, s = at % width;
    const int64_t first = ch / (c / o.groups) * k_of;
    for (int64_t f = 0; f < k_of; ++f)
      for (int64_t p = 0; p < o.kernel_h; ++p)
        for (int64_t q = 0; q < o.kernel_w; ++q) {
          const int64_t a = r * stride_h - pad_h + p * o.dilation, b = s * o.stride - o.pad + q * o.dilation;
          if (a < 0 || a >= oh || b < 0 || b >= ow) continue;
          y[size_t(((i * k + first + f) * oh + a) * ow + b)] +=
              x[size_t(at)] * w[size_t(((ch * k_of + f) * o.kernel_h + p) * o.kernel_w + q)];
        }
  }
  return y;
}

std::string layer(const std::string& options) { return "type: 'Deconvolution' convolution_param { " + options + " }"; }

LayerCase with_bias(const std::string& options, const Shape& x, const Window& window) {
  return {.layer = layer(options),
          .x = {random(x, 1)},
          .reference = [window](const Arrays& x, const Arrays& w) -> Arrays {
            return {deconvolve(x[0], w[0], &w[1], window)};
          },
          .same_bits_for_any_threads = false};
}

TEST(Deconvolution, IsTheDefinition) {
  check_layer(with_bias("num_output: 3 kernel_size: 4 stride: 2 pad: 1", {2, 5, 4, 3}, {4, 4, 2, 1}));
  check_layer(with_bias("num_output: 4 kernel_h: 3 kernel_w: 1", {1, 2, 5, 4}, {3, 1}));
  check_layer(with_bias("num_output: 3 kernel_size: 3 pad: 2 dilation: 2 stride: 3", {1, 4, 4, 5}, {3, 3, 3, 2, 2}));
  check_layer(with_bias("num_output: 3 kernel_size: 2 stride: 3 engine: CAFFE", {1, 4, 3, 3}, {2, 2, 3}));
}

TEST(Deconvolution, InBlocks) {
  check_layer(with_bias("num_output: 32 kernel_size: 3 pad: 1", {2, 16, 4, 5}, {3, 3, 1, 1}));
  check_layer(with_bias("num_output: 20 kernel_size: 3 pad: 1", {1, 20, 4, 4}, {3, 3, 1, 1}));
}

TEST(Deconvolution, Groups) {
  check_layer(with_bias("num_output: 6 kernel_size: 3 pad: 1 group: 2", {2, 4, 5, 5}, {3, 3, 1, 1, 1, 2}));
  check_layer(
      with_bias("num_output: 32 kernel_size: 4 pad: 1 stride: 2 group: 32", {1, 32, 3, 3}, {4, 4, 2, 1, 1, 32}));
}

TEST(Deconvolution, OneSpatialAxis) {
  check_layer(with_bias("num_output: 4 kernel_size: 3 stride: 2 pad: 1", {2, 3, 5}, {1, 3, 2, 1}));
}

/// By the definition, with `window` on y: x has its channels on `axis`.
LayerCase on_axes(const std::string& options, const Shape& x, int axis, const std::vector<WindowAxis>& window) {
  const auto reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
    const int64_t n = x[0].shape.count(0, axis), c = x[0].shape[axis], k = w[0].shape[1], taps = w[0].shape.count(2);
    const int64_t ins = x[0].shape.count(axis + 1);
    const int64_t outs = places(window, [](const WindowAxis& a) { return a.in; });
    Shape shape = x[0].shape;
    shape[axis] = k;
    for (size_t i = 0; i < window.size(); ++i) shape[axis + 1 + int(i)] = window[i].in;
    Array y(shape);
    for (int64_t i = 0; i < int64_t(y.size()); ++i) y[size_t(i)] = w[1][size_t(i / outs % k)];
    each_meeting(window, [&](int64_t out, int64_t tap, int64_t in) {
      for (int64_t i = 0; i < n * c; ++i)
        for (int64_t f = 0; f < k; ++f)
          y[size_t((i / c * k + f) * outs + out)] +=
              x[0][size_t(i * ins + in)] * w[0][size_t((i % c * k + f) * taps + tap)];
    });
    return {y};
  };
  return {.layer = layer(options), .x = {random(x, 1)}, .reference = reference, .same_bits_for_any_threads = false};
}

TEST(Deconvolution, AnyNumberOfAxes) {
  check_layer(on_axes("num_output: 2 kernel_size: 3 stride: 2 pad: 1", {2, 3, 2, 3, 2}, 1,
                      {{3, 3, 2, 1}, {5, 3, 2, 1}, {3, 3, 2, 1}}));
  check_layer(on_axes("num_output: 2 kernel_size: 2 axis: 2", {2, 2, 3, 2, 3}, 2, {{3, 2}, {4, 2}}));
  check_layer(on_axes("num_output: 2 kernel_size: 2 axis: 0", {3, 2, 3}, 0, {{3, 2}, {4, 2}}));
}

/// The window is on y, of 9 x 8 and 7 x 5 values.
TEST(Deconvolution, DistinguishesHeightFromWidth) {
  const std::vector<WindowAxis> axes = {{9, 3, 2, 1}, {8, 2, 1, 2, 3}};
  const Shape plain{2, 4, axes[0].out(), axes[1].out()}, in_blocks{1, 20, axes[0].out(), axes[1].out()};
  check_layer(on_axes("num_output: 3 kernel_size: [3, 2] stride: [2, 1] pad: [1, 2] dilation: [1, 3]", plain, 1, axes));
  check_layer(
      on_axes("num_output: 20 kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 1 pad_h: 1 pad_w: 2 dilation: [1, 3]",
              in_blocks, 1, axes));
  check_layer(on_axes("num_output: 3 kernel_size: [1, 3] stride: [3, 2] dilation: [1, 2]", {1, 4, 3, 1}, 1,
                      {{7, 1, 3}, {5, 3, 2, 0, 2}}));
}

TEST(Deconvolution, SeveralBottomsShareTheWeightsWithoutBias) {
  check_layer({.layer = layer("num_output: 4 kernel_size: 3 bias_term: false") + " top: 'a' top: 'b'",
               .x = {random({2, 3, 4, 4}, 1), random({2, 3, 4, 4}, 2)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 return {deconvolve(x[0], w[0], nullptr, {3, 3}), deconvolve(x[1], w[0], nullptr, {3, 3})};
               },
               .same_bits_for_any_threads = false});
}

TEST(Deconvolution, FillsWeightsInItsOwnOrder) {
  const MadeLayer made(layer("num_output: 6 kernel_size: 4 stride: 2 group: 2"), "", {{1, 4, 5, 5}});
  EXPECT_EQ(made.shapes.w[0].shape, (Shape{4, 3, 4, 4}));
  EXPECT_EQ(made.shapes.w[1].shape, (Shape{6}));
  EXPECT_EQ(made.shapes.y[0], (Shape{1, 6, 12, 12}));
  EXPECT_EQ(made.layer->flops({{1, 4, 5, 5}}, made.shapes.y), 2 * 25 * 4 * 3 * 16 + 6 * 144);
}

TEST(Deconvolution, ReportsErrors) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words,
                          const Shape& x = {2, 4, 5, 5}) {
    SCOPED_TRACE(options);
    expect_field_error(layer(options), {x}, field, words);
  };
  const std::string p = "convolution_param";
  refuses("kernel_size: 3", p, "num_output is missing");
  refuses("num_output: 2 kernel_size: 3 pad: 9", p,
          "the result is empty along an axis: stride 1 x (5 - 1) + 3 - 2 x pad 9 = -11");
  refuses("num_output: 6 kernel_size: 3 group: 3", p + ".group", "does not divide the 4 channels");
  refuses("num_output: 2 kernel_size: 3 relu: true", p + ".relu", "not available");
  refuses("num_output: 2 kernel_size: 3", "bottom[0]", "needs N x C x H x W", {2, 4});
  refuses("num_output: 2 kernel_h: 2 kernel_w: 3 weight_filler { type: 'bilinear' }", p + ".weight_filler.type",
          "square");
  refuses("num_output: 2 kernel_size: 2 stride: 2147483647 stride: 1", p, "more than any memory", {1, 4, 100000, 2});
}

}  // namespace
}  // namespace cortado::harness
