#include <gtest/gtest.h>

#include "layers/common/fusion_kinds.h"
#include "tests/harness/layer_harness.h"
#include "tests/harness/windows.h"

namespace cortado::harness {
namespace {

struct Window {
  int64_t kernel_h, kernel_w, stride = 1, pad = 0, dilation = 1, groups = 1;
};

/// One batch of images, by the definition; x, w and bias in the user's order. An x of three axes has no h.
Array convolve(const Array& x, const Array& w, const Array* bias, const Window& o, bool relu = false) {
  const bool flat = x.shape.axes() == 3;
  const int64_t n = x.shape[0], c = x.shape[1], h = flat ? 1 : x.shape[2], width = x.shape[flat ? 2 : 3],
                k = w.shape[0];
  const auto out = [&](int64_t in, int64_t kernel, int64_t stride, int64_t pad) {
    return (in + 2 * pad - (o.dilation * (kernel - 1) + 1)) / stride + 1;
  };
  const int64_t stride_h = flat ? 1 : o.stride, pad_h = flat ? 0 : o.pad;
  const int64_t oh = out(h, o.kernel_h, stride_h, pad_h), ow = out(width, o.kernel_w, o.stride, o.pad);
  Array y(flat ? Shape{n, k, ow} : Shape{n, k, oh, ow});
  for (int64_t at = 0; at < y.shape.count(); ++at) {
    const int64_t i = at / (k * oh * ow), f = at / (oh * ow) % k, r = at / ow % oh, s = at % ow;
    double sum = bias ? (*bias)[size_t(f)] : 0;
    const int64_t c_of = c / o.groups, first = f / (k / o.groups) * c_of;
    for (int64_t ch = 0; ch < c_of; ++ch)
      for (int64_t p = 0; p < o.kernel_h; ++p)
        for (int64_t q = 0; q < o.kernel_w; ++q) {
          const int64_t a = r * stride_h - pad_h + p * o.dilation, b = s * o.stride - o.pad + q * o.dilation;
          if (a < 0 || a >= h || b < 0 || b >= width) continue;
          sum += x[size_t(((i * c + first + ch) * h + a) * width + b)] *
                 w[size_t(((f * c_of + ch) * o.kernel_h + p) * o.kernel_w + q)];
        }
    y[size_t(at)] = relu ? std::max(sum, 0.0) : sum;
  }
  return y;
}

std::string layer(const std::string& options) { return "type: 'Convolution' convolution_param { " + options + " }"; }

LayerCase with_bias(const std::string& options, const Shape& x, const Window& window) {
  return {.layer = layer(options),
          .x = {random(x, 1)},
          .reference = [window](const Arrays& x, const Arrays& w) -> Arrays {
            return {convolve(x[0], w[0], &w[1], window)};
          },
          .same_bits_for_any_threads = false};
}

TEST(Convolution, IsTheDefinition) {
  check_layer(with_bias("num_output: 20 kernel_size: 3", {2, 20, 5, 6}, {3, 3}));
  check_layer(with_bias("num_output: 5 kernel_size: 5 pad: 2 stride: 2", {2, 3, 8, 8}, {5, 5, 2, 2}));
  check_layer(with_bias("num_output: 4 kernel_h: 3 kernel_w: 1", {1, 2, 5, 4}, {3, 1}));
  check_layer(with_bias("num_output: 4 kernel_size: 3 kernel_size: 2", {1, 2, 5, 4}, {3, 2}));
  check_layer(with_bias("num_output: 3 kernel_size: 3 pad: 2 dilation: 2", {1, 4, 6, 6}, {3, 3, 1, 2, 2}));
}

TEST(Convolution, HoleIsDilation) {
  check_layer(with_bias("num_output: 3 kernel_size: 3 pad: 2 hole: 2", {1, 4, 6, 6}, {3, 3, 1, 2, 2}));
  check_layer(with_bias("num_output: 3 kernel_size: 3 hole_h: 2 hole_w: 2 dilation: 2", {1, 2, 6, 6}, {3, 3, 1, 0, 2}));
  check_layer(with_bias("num_output: 3 kernel_size: 3 pad: 2 kstride: 2", {1, 4, 6, 6}, {3, 3, 1, 2, 2}));
  const MadeLayer made(layer("num_output: 3 kernel_size: 3 hole_w: 2"), "", {{1, 2, 6, 6}});
  EXPECT_EQ(made.shapes.y[0], (Shape{1, 3, 4, 2}));
}

TEST(Convolution, Groups) {
  check_layer(with_bias("num_output: 6 kernel_size: 3 pad: 1 group: 2", {2, 4, 5, 5}, {3, 3, 1, 1, 1, 2}));
  check_layer(with_bias("num_output: 20 kernel_size: 3 pad: 1 group: 20", {2, 20, 4, 4}, {3, 3, 1, 1, 1, 20}));
  check_layer(with_bias("num_output: 32 kernel_size: 1 group: 2", {1, 32, 3, 3}, {1, 1, 1, 0, 1, 2}));
}

TEST(Convolution, OneSpatialAxis) {
  check_layer(with_bias("num_output: 4 kernel_size: 3 stride: 2 pad: 1", {2, 3, 9}, {1, 3, 2, 1}));
}

/// By the definition, for x with its channels on `axis` and a window on all axes after it.
LayerCase on_axes(const std::string& options, const Shape& x, int axis, const std::vector<WindowAxis>& window,
                  int64_t groups = 1) {
  const auto reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
    const int64_t n = x[0].shape.count(0, axis), c = x[0].shape[axis] / groups, k = w[0].shape[0], k_of = k / groups;
    const int64_t ins = x[0].shape.count(axis + 1), taps = w[0].shape.count(2);
    const int64_t outs = places(window, [](const WindowAxis& a) { return a.out(); });
    Shape shape = x[0].shape;
    shape[axis] = k;
    for (size_t i = 0; i < window.size(); ++i) shape[axis + 1 + int(i)] = window[i].out();
    Array y(shape);
    for (int64_t i = 0; i < int64_t(y.size()); ++i) y[size_t(i)] = w[1][size_t(i / outs % k)];
    each_meeting(window, [&](int64_t in, int64_t tap, int64_t out) {
      for (int64_t i = 0; i < n * k; ++i)
        for (int64_t ch = 0; ch < c; ++ch)
          y[size_t(i * outs + out)] += x[0][size_t(((i / k * groups + i % k / k_of) * c + ch) * ins + in)] *
                                       w[0][size_t((i % k * c + ch) * taps + tap)];
    });
    return {y};
  };
  return {.layer = layer(options), .x = {random(x, 1)}, .reference = reference, .same_bits_for_any_threads = false};
}

TEST(Convolution, ThreeAndMoreSpatialAxes) {
  check_layer(
      on_axes("num_output: 4 kernel_size: 3 pad: 1", {2, 3, 4, 5, 3}, 1, {{4, 3, 1, 1}, {5, 3, 1, 1}, {3, 3, 1, 1}}));
  const std::string each = "kernel_size: [2, 3, 1] stride: [1, 2, 1] dilation: [2, 1, 1] pad: [1, 0, 0]";
  check_layer(on_axes("num_output: 4 group: 2 " + each, {1, 4, 4, 5, 3}, 1, {{4, 2, 1, 1, 2}, {5, 3, 2}, {3, 1}}, 2));
  check_layer(on_axes("num_output: 2 kernel_size: 2", {1, 2, 2, 3, 2, 3}, 1, {{2, 2}, {3, 2}, {2, 2}, {3, 2}}));
}

TEST(Convolution, DistinguishesHeightFromWidth) {
  const std::vector<WindowAxis> axes = {{8, 3, 1, 2, 1}, {7, 2, 2, 1, 3}};
  for (const Shape& x : {Shape{2, 4, 8, 7}, Shape{1, 20, 8, 7}}) {
    check_layer(on_axes("num_output: 20 kernel_size: [3, 2] stride: [1, 2] pad: [2, 1] dilation: [1, 3]", x, 1, axes));
    check_layer(
        on_axes("num_output: 3 kernel_h: 3 kernel_w: 2 stride_h: 1 stride_w: 2 pad_h: 2 pad_w: 1 hole_h: 1 "
                "hole_w: 3",
                x, 1, axes));
    check_layer(on_axes("num_output: 4 kernel_size: [2, 3] stride: [3, 1] pad: 1 dilation: [2, 1]", x, 1,
                        {{8, 2, 3, 1, 2}, {7, 3, 1, 1, 1}}));
  }
}

TEST(Convolution, AnyAxisHoldsTheChannels) {
  check_layer(on_axes("num_output: 4 kernel_size: 3 axis: 2", {2, 2, 3, 4, 5}, 2, {{4, 3}, {5, 3}}));
  check_layer(on_axes("num_output: 4 kernel_size: 2 axis: 0", {3, 4, 5}, 0, {{4, 2}, {5, 2}}));
  check_layer(on_axes("num_output: 3 kernel_size: 2 axis: -2", {2, 3, 2, 6}, 2, {{6, 2}}));
  check_layer(on_axes("num_output: 3 kernel_size: 2 axis: 0", {3, 2, 4, 3}, 0, {{2, 2}, {4, 2}, {3, 2}}));
}

TEST(Convolution, WithoutBias) {
  check_layer({.layer = layer("num_output: 4 kernel_size: 3 bias_term: false"),
               .x = {random({2, 3, 5, 5}, 1)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 return {convolve(x[0], w[0], nullptr, {3, 3})};
               },
               .same_bits_for_any_threads = false});
}

TEST(Convolution, SeveralBottomsShareTheWeights) {
  check_layer({.layer = layer("num_output: 4 kernel_size: 3") + " top: 'a' top: 'b'",
               .x = {random({2, 3, 5, 5}, 1), random({2, 3, 5, 5}, 2)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 return {convolve(x[0], w[0], &w[1], {3, 3}), convolve(x[1], w[0], &w[1], {3, 3})};
               },
               .same_bits_for_any_threads = false});
}

TEST(Convolution, FusesARelu) {
  const auto reference = [](const Arrays& x, const Arrays& w) -> Arrays {
    return {convolve(x[0], w[0], &w[1], {3, 3}, true)};
  };
  Array bias({20}, 4);  // far from the kink: every other channel is on, the others off
  for (size_t k = 1; k < 20; k += 2) bias[k] = -4;
  check_layer({.layer = layer("num_output: 20 kernel_size: 3"),
               .x = {random({2, 2, 5, 5}, 1)},
               .reference = reference,
               .w = {random({20, 2, 3, 3}, 3, -0.2, 0.2), bias},
               .follower = "type: 'ReLU'",
               .same_bits_for_any_threads = false});
}

TEST(Convolution, FusesARelu6) {
  const auto reference = [](const Arrays& x, const Arrays& w) -> Arrays {
    return {map(convolve(x[0], w[0], &w[1], {3, 3}, true), [](double v) { return std::min(v, 6.0); })};
  };
  Array bias({20}, 4);  // far from the kinks: channels are off, on and at the ceiling in turn
  for (size_t k = 1; k < 20; ++k) bias[k] = k % 3 == 0 ? -4 : k % 3 == 1 ? 3 : 10;
  check_layer({.layer = layer("num_output: 20 kernel_size: 3"),
               .x = {random({2, 2, 5, 5}, 1)},
               .reference = reference,
               .w = {random({20, 2, 3, 3}, 3, -0.2, 0.2), bias},
               .follower = "type: 'ReLU6'",
               .same_bits_for_any_threads = false});
}

TEST(Convolution, KeepsTheMaskOfARelu6) {
  const MadeLayer convolution(layer("num_output: 4 kernel_size: 3"), "type: 'ReLU6'", {{1, 2, 5, 5}});
  EXPECT_TRUE(convolution.absorbed);
  const auto masks = [&](const kernels::PostOps& post) {
    const std::vector<Fusion> offered =
        convolution.layer->fusions({.post = post, .mode = NetMode::kTraining, .device = {}});
    return find_fusion(offered, kReluMask, Fusion::kMaker) != nullptr;
  };
  EXPECT_FALSE(masks(convolution.post));
  EXPECT_TRUE(masks({.activation = kernels::Activation::relu()}));
  EXPECT_FALSE(masks({}));
}

TEST(Convolution, DoesNotFuseALeakyRelu) {
  const MadeLayer made(layer("num_output: 4 kernel_size: 3"), "type: 'ReLU' relu_param { negative_slope: 0.1 }",
                       {{1, 2, 5, 5}});
  EXPECT_FALSE(made.absorbed);
}

TEST(Convolution, CountsFlops) {
  const MadeLayer made(layer("num_output: 4 kernel_size: 3"), "", {{2, 3, 5, 5}});
  EXPECT_EQ(made.layer->flops({{2, 3, 5, 5}}, made.shapes.y), 2 * (2 * 4 * 3 * 3) * (3 * 3 * 3) + 2 * 4 * 3 * 3);
}

void refuses(const std::string& options, const std::string& field, const std::string& words,
             const Shape& x = {2, 4, 5, 5}) {
  SCOPED_TRACE(options);
  expect_field_error(layer(options), {x}, field, words);
}

TEST(Convolution, ReportsErrors) {
  const std::string p = "convolution_param";
  refuses("kernel_size: 3", p, "num_output is missing");
  refuses("num_output: 0 kernel_size: 3", p + ".num_output", "num_output is 0");
  refuses("num_output: 2", p, "kernel size is missing");
  refuses("num_output: 2 kernel_h: 2", p + ".kernel_h", "only one side");
  refuses("num_output: 2 kernel_size: 0", p + ".kernel_size[0]", "kernel_size is 0");
  refuses("num_output: 2 kernel_size: 3 kernel_w: 3", p + ".kernel_w", "contradicts kernel_size");
  refuses("num_output: 2 kernel_size: 3 stride: 0", p + ".stride[0]", "stride is 0");
  refuses("num_output: 2 kernel_size: 3 stride_h: 1 stride_w: 0", p + ".stride_w", "stride is 0");
  refuses("num_output: 2 kernel_size: 3 dilation: 1 dilation: 0", p + ".dilation[1]", "dilation is 0");
  refuses("num_output: 2 kernel_size: 3 pad: 1 pad: 1 pad: 1", p + ".pad[2]",
          "pad has 3 values, but bottom[0] has shape 2x4x5x5");
  refuses("num_output: 2 kernel_size: 3 group: 0", p + ".group", "group is 0");
  refuses("num_output: 6 kernel_size: 3 group: 3", p + ".group", "does not divide the 4 channels");
  refuses("num_output: 6 kernel_size: 3 group: 4", p + ".group", "does not divide num_output, 6");
  refuses("num_output: 2 kernel_size: 7", p + ".kernel_size[0]", "kernel_size is 7, larger than its padded input 5x5");
  refuses("num_output: 2 kernel_h: 1 kernel_w: 9 pad: 1", p + ".kernel_w",
          "kernel_w is 9, larger than its padded input 7x7");
  refuses("num_output: 2 kernel_size: 3 dilation: 4", p + ".kernel_size[0]", "dilated to 9 by dilation 4");
  refuses("num_output: 2 kernel_size: 4294967295 dilation: 4294967295", p + ".kernel_size[0]", "too large");
  refuses("num_output: 2 kernel_size: 3 axis: 3", p + ".axis", "axis is 3, but bottom[0] has shape 2x4x5x5");
  refuses("num_output: 2 kernel_size: 3 axis: -5", p + ".axis", "axis is -5");
  refuses("num_output: 2 kernel_size: 3 axis: -2147483644", p + ".axis", "axis is -2147483644");
  refuses("num_output: 2 kernel_size: 3", "bottom[0]", "convolution needs N x C x H x W", {2, 4});
  refuses("num_output: 2 kernel_size: 3", "bottom[0]", "no channels", {2, 0, 5, 5});
  refuses("num_output: 2 kernel_size: 3 hole: 2 dilation: 1", p + ".hole[0]", "hole contradicts dilation");
  refuses("num_output: 2 kernel_size: 3 hole_h: 2 hole_w: 1 dilation: 2", p + ".hole_h", "hole contradicts dilation");
  refuses("num_output: 2 kernel_size: 3 hole: 2 hole_w: 2", p + ".hole_w", "hole_w contradicts hole");
  refuses("num_output: 2 kernel_size: 3 hole: 0", p + ".hole[0]", "hole is 0");
  refuses("num_output: 2 kernel_size: 3 kstride: 2 dilation: 1", p + ".kstride[0]", "kstride contradicts dilation");
  refuses("num_output: 2 kernel_size: 3 kstride: 2 hole: 2", p + ".kstride[0]", "both set");
  refuses("num_output: 2 kernel_size: 3 kernel_depth: 3", p + ".kernel_depth", "not available");
}

}  // namespace
}  // namespace cortado::harness
