#include <gtest/gtest.h>

#include "tests/harness/volume_convolutions.h"

namespace cortado::harness {
namespace {

std::string layer(const std::string& message, const std::string& options) {
  return "type: 'Deconvolution3D' " + message + " { " + options + " }";
}

/// By the definition: `window` is that of the corresponding convolution, from y to x.
Array deconvolve(const Array& x, const Array& w, const Array& bias, const std::vector<WindowAxis>& window,
                 int64_t groups) {
  const int64_t n = x.shape[0], c = x.shape[1], c_of = c / groups, k_of = w.shape[1], k = k_of * groups;
  const int64_t ins = x.shape.count(2), taps = w.shape.count(2);
  Array y(Shape{n, k, window[0].in, window[1].in, window[2].in});
  const int64_t outs = y.shape.count(2);
  for (int64_t i = 0; i < int64_t(y.size()); ++i) y[size_t(i)] = bias[size_t(i / outs % k)];
  each_meeting(window, [&](int64_t out, int64_t tap, int64_t in) {
    for (int64_t i = 0; i < n * c; ++i)
      for (int64_t f = 0; f < k_of; ++f)
        y[size_t((i / c * k + i % c / c_of * k_of + f) * outs + out)] +=
            x[size_t(i * ins + in)] * w[size_t((i % c * k_of + f) * taps + tap)];
  });
  return y;
}

void check(const std::string& options, const Shape& x, const std::vector<WindowAxis>& window, int64_t groups = 1) {
  check_volumes("Deconvolution3D", options, x, window, groups, deconvolve);
}

TEST(Deconvolution3D, IsTheDefinition) {
  check("num_output: 2 kernel_size: 4 kernel_depth: 4 stride: 2 temporal_stride: 2 pad: 1 temporal_pad: 1",
        {1, 3, 2, 3, 2}, {{4, 4, 2, 1}, {6, 4, 2, 1}, {4, 4, 2, 1}});
  check("num_output: 4 kernel_size: 3 kernel_depth: 1 stride: 2 group: 2", {2, 4, 2, 2, 3},
        {{2, 1}, {5, 3, 2}, {7, 3, 2}}, 2);
}

TEST(Deconvolution3D, HasWeightsInItsOwnOrder) {
  const MadeLayer made(layer("convolution3d_param", "num_output: 6 kernel_size: 3 kernel_depth: 2 group: 2"), "",
                       {{1, 4, 4, 5, 5}});
  EXPECT_EQ(made.shapes.w[0].shape, (Shape{4, 3, 2, 3, 3}));
  EXPECT_EQ(made.shapes.y[0], (Shape{1, 6, 5, 7, 7}));
}

TEST(Deconvolution3D, ReportsErrors) {
  const std::string own = "convolution3d_param";
  const auto refuses = [&](const std::string& options, const std::string& field, const std::string& words,
                           const Shape& x = {1, 2, 4, 5, 6}) {
    expect_field_error(layer(own, options), {x}, field, words);
  };
  refuses("num_output: 2 kernel_size: 3", own, "kernel_depth is missing");
  refuses("num_output: 2 kernel_size: 3 kernel_depth: 3 pad: 9", own, "empty along an axis");
  refuses("num_output: 2 kernel_size: 3 kernel_depth: 3 stride: 0", own + ".stride", "stride is 0");
  refuses("num_output: 2 kernel_size: 3 kernel_depth: 3", "bottom[0]", "must be N x C x L x H x W", {1, 2, 5, 6});
}

}  // namespace
}  // namespace cortado::harness
