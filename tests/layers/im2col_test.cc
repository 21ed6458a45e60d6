#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"
#include "tests/harness/windows.h"

namespace cortado::harness {
namespace {

struct Window {
  int64_t kernel, stride = 1, pad = 0, dilation = 1;
  int64_t out(int64_t in) const { return (in + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1; }
};

/// By scattering: each element of x goes to all windows that contain it. `x` has four axes.
Array columns(const Array& x, const Window& h, const Window& w) {
  const int64_t height = x.shape[2], width = x.shape[3], rows = h.out(height), places = w.out(width);
  Array y({x.shape[0], x.shape[1] * h.kernel * w.kernel, rows, places});
  for (int64_t i = 0; i < int64_t(x.size()); ++i)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t place = 0; place < places; ++place)
        for (int64_t a = 0; a < h.kernel; ++a)
          for (int64_t b = 0; b < w.kernel; ++b) {
            const bool sees = row * h.stride + a * h.dilation == i / width % height + h.pad &&
                              place * w.stride + b * w.dilation == i % width + w.pad;
            const int64_t channel = (i / width / height * h.kernel + a) * w.kernel + b;
            if (sees) y[size_t((channel * rows + row) * places + place)] = x[size_t(i)];
          }
  return y;
}

LayerCase im2col(const std::string& options, const Shape& shape, const Window& h, const Window& w) {
  return {
      .layer = "type: 'Im2col' convolution_param { " + options + " }",
      .x = {random(shape, 1)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {columns(x[0], h, w)}; },
  };
}

TEST(Im2col, UnrollsWindows) { check_layer(im2col("kernel_size: 3", {2, 3, 5, 4}, {3}, {3})); }
TEST(Im2col, PadsAndStrides) {
  check_layer(im2col("kernel_size: 3 pad: 1 stride: 2", {2, 2, 6, 5}, {3, 2, 1}, {3, 2, 1}));
}
TEST(Im2col, Dilates) {
  check_layer(im2col("kernel_size: 2 dilation: 3 pad: 2", {1, 2, 6, 5}, {2, 1, 2, 3}, {2, 1, 2, 3}));
}
TEST(Im2col, DistinguishesHeightFromWidth) {
  check_layer(
      im2col("kernel_h: 1 kernel_w: 4 stride_h: 3 stride_w: 2 pad_h: 0 pad_w: 2", {2, 3, 7, 5}, {1, 3, 0}, {4, 2, 2}));
  check_layer(im2col("kernel_size: 2 kernel_size: 3 dilation: 2 dilation: 1", {1, 3, 5, 4}, {2, 1, 0, 2}, {3}));
}

TEST(Im2col, TakesOneSpatialAxis) {
  LayerCase of_three = im2col("kernel_size: 3 pad: 1 stride: 2", {2, 3, 6}, {1}, {3, 2, 1});
  of_three.reference = [](const Arrays& x, const Arrays&) -> Arrays {
    const Array y = columns(Array({2, 3, 1, 6}, x[0].values), {1}, {3, 2, 1});
    return {Array({2, 9, 3}, y.values)};
  };
  check_layer(of_three);
}

TEST(Im2col, TakesAnyNumberOfAxes) {
  const std::vector<WindowAxis> window = {{4, 2, 1, 1}, {3, 2, 1, 1}, {5, 2, 1, 1}};
  const auto reference = [=](const Arrays& x, const Arrays&) -> Arrays {
    Array y({2, 3 * 8, 5, 4, 6});
    each_meeting(window, [&](int64_t in, int64_t tap, int64_t out) {
      for (int64_t c = 0; c < 2 * 3; ++c) y[size_t((c * 8 + tap) * 120 + out)] = x[0][size_t(c * 60 + in)];
    });
    return {y};
  };
  check_layer({.layer = "type: 'Im2col' convolution_param { kernel_size: 2 pad: 1 }",
               .x = {random({2, 3, 4, 3, 5}, 1)},
               .reference = reference});
  check_layer({.layer = "type: 'Im2col' convolution_param { kernel_size: 2 pad: 1 axis: 2 }",
               .x = {random({1, 2, 3, 4, 3, 5}, 1)},
               .reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
                 return {Array({1, 2, 24, 5, 4, 6}, reference(x, w)[0].values)};
               }});
}

TEST(Im2col, AcceptsEmptyInputs) { check_layer(im2col("kernel_size: 3", {0, 3, 5, 4}, {3}, {3})); }

TEST(Im2col, RejectsMismatchedShapes) {
  const std::string layer = "type: 'Im2col' convolution_param { ";
  expect_field_error("type: 'Im2col'", {{1, 2, 3, 3}}, "convolution_param", "the kernel size is missing");
  expect_field_error(layer + "kernel_size: 5 }", {{1, 2, 3, 3}}, "convolution_param.kernel_size[0]", "larger");
  expect_field_error(layer + "kernel_size: 3 stride: 0 }", {{1, 2, 3, 3}}, "convolution_param.stride[0]", "0");
  expect_field_error(layer + "kernel_size: 3 axis: 3 }", {{1, 2, 3, 3}}, "convolution_param.axis", "axis is 3");
  expect_field_error(layer + "kernel_size: 3 relu: true }", {{1, 2, 3, 3}}, "convolution_param.relu", "fused ReLU");
  expect_field_error(layer + "kernel_size: 3 }", {{1, 2}}, "bottom[0]", "1x2");
}

}  // namespace
}  // namespace cortado::harness
