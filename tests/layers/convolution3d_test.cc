#include <gtest/gtest.h>

#include "tests/harness/volume_convolutions.h"

namespace cortado::harness {
namespace {

std::string layer(const std::string& message, const std::string& options) {
  return "type: 'Convolution3D' " + message + " { " + options + " }";
}

/// By the definition.
Array convolve(const Array& x, const Array& w, const Array& bias, const std::vector<WindowAxis>& window,
               int64_t groups) {
  const int64_t n = x.shape[0], c = x.shape[1] / groups, k = w.shape[0], k_of = k / groups;
  const int64_t ins = x.shape.count(2), taps = w.shape.count(2);
  Array y(Shape{n, k, window[0].out(), window[1].out(), window[2].out()});
  const int64_t outs = y.shape.count(2);
  for (int64_t i = 0; i < int64_t(y.size()); ++i) y[size_t(i)] = bias[size_t(i / outs % k)];
  each_meeting(window, [&](int64_t in, int64_t tap, int64_t out) {
    for (int64_t i = 0; i < n * k; ++i)
      for (int64_t ch = 0; ch < c; ++ch)
        y[size_t(i * outs + out)] +=
            x[size_t(((i / k * groups + i % k / k_of) * c + ch) * ins + in)] * w[size_t((i % k * c + ch) * taps + tap)];
  });
  return y;
}

void check(const std::string& options, const Shape& x, const std::vector<WindowAxis>& window, int64_t groups = 1) {
  check_volumes("Convolution3D", options, x, window, groups, convolve);
}

TEST(Convolution3D, IsTheDefinition) {
  check("num_output: 3 kernel_size: 3 kernel_depth: 3 pad: 1 temporal_pad: 1", {2, 2, 3, 4, 5},
        {{3, 3, 1, 1}, {4, 3, 1, 1}, {5, 3, 1, 1}});
  check("num_output: 4 kernel_size: 3 kernel_depth: 2 stride: 2 temporal_stride: 1 pad: 1 group: 2", {1, 4, 3, 5, 4},
        {{3, 2}, {5, 3, 2, 1}, {4, 3, 2, 1}}, 2);
  check("num_output: 2 kernel_size: 1 kernel_depth: 3 temporal_stride: 2 temporal_pad: 1", {1, 2, 4, 2, 3},
        {{4, 3, 2, 1}, {2, 1}, {3, 1}});
}

TEST(Convolution3D, HasWeightsOfFiveAxes) {
  const MadeLayer made(layer("convolution3d_param", "num_output: 4 kernel_size: 3 kernel_depth: 2 group: 2"), "",
                       {{1, 6, 4, 5, 5}});
  EXPECT_EQ(made.shapes.w[0].shape, (Shape{4, 3, 2, 3, 3}));
  EXPECT_EQ(made.shapes.w[1].shape, (Shape{4}));
  EXPECT_EQ(made.shapes.y[0], (Shape{1, 4, 3, 3, 3}));
}

TEST(Convolution3D, ReportsErrors) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words,
                          const Shape& x = {1, 2, 4, 5, 6}) {
    for (const std::string message : {"convolution_param", "convolution3d_param"}) {
      SCOPED_TRACE(options);
      expect_field_error(layer(message, options), {x}, field.starts_with("bottom") ? field : message + field, words);
    }
  };
  refuses("kernel_size: 3 kernel_depth: 3", "", "num_output is missing");
  refuses("num_output: 2 kernel_size: 3", "", "kernel_depth is missing");
  refuses("num_output: 2 kernel_depth: 3", "", "kernel_size is missing");
  refuses("num_output: 2 kernel_size: 3 kernel_depth: 0", ".kernel_depth", "kernel_size is 0");
  refuses("num_output: 2 kernel_size: 3 kernel_depth: 3 temporal_stride: 0", ".temporal_stride", "stride is 0");
  refuses("num_output: 2 kernel_size: 3 kernel_depth: 7 temporal_pad: 1", ".kernel_depth",
          "kernel_depth is 7, larger than its padded input 6x5x6");
  refuses("num_output: 2 kernel_size: 9 kernel_depth: 3 pad: 1", ".kernel_size",
          "kernel_size is 9, larger than its padded input 4x7x8");
  refuses("num_output: 2 kernel_size: 3 kernel_depth: 3 group: 3", ".group", "does not divide the 2 channels");
  refuses("num_output: 2 kernel_size: 3 kernel_depth: 3", "bottom[0]", "must be N x C x L x H x W", {1, 2, 5, 6});
  const std::string images = "convolution_param";
  const auto refuses_images = [&](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error(layer(images, "num_output: 2 kernel_depth: 2 kernel_size: 2 " + options), {{1, 2, 4, 5, 6}},
                       images + field, words);
  };
  refuses_images("kernel_size: 2", ".kernel_size[1]", "2 values");
  refuses_images("dilation: 2", ".dilation", "not available");
  refuses_images("hole: 2", ".hole", "not available");
  refuses_images("stride_h: 2", ".stride_h", "not available");
  refuses_images("} convolution3d_param { num_output: 1", "", "convolution3d_param is set as well");
}

}  // namespace
}  // namespace cortado::harness
