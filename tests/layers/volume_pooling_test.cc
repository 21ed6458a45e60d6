#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "tests/harness/any_pooling.h"

namespace cortado::harness {
namespace {

struct Windows {
  std::vector<int64_t> kernel, stride, pad;
  bool average = false, up = true, counts_padding = true;
};

/// The number of windows on one side, by a loop.
int64_t outputs(const Windows& k, size_t axis, int64_t in) {
  const int64_t kernel = k.kernel[axis], stride = k.stride[axis], pad = k.pad[axis];
  int64_t n = 1;
  while (k.up ? (n - 1) * stride + kernel < in + 2 * pad : n * stride + kernel <= in + 2 * pad) ++n;
  if (pad > 0 && (n - 1) * stride >= in + pad) --n;
  return n;
}

/// Checks for every position of a volume whether it is in the window.
Array pool(const Array& x, const Windows& k) {
  Shape shape = x.shape;
  for (int a = 2; a < 5; ++a) shape[a] = outputs(k, size_t(a - 2), x.shape[a]);
  Array y(shape);
  const int64_t in = x.shape.count(2), out = shape.count(2);
  for (int64_t o = 0; o < shape.count(); ++o) {
    const int64_t plane = o / out, at[3] = {o / shape[4] / shape[3] % shape[2], o / shape[4] % shape[3], o % shape[4]};
    int64_t begin[3], end[3];
    double area = 1, sum = 0, best = -DBL_MAX;
    for (size_t a = 0; a < 3; ++a) {
      const int64_t extent = x.shape[int(a) + 2], start = at[a] * k.stride[a] - k.pad[a], stop = start + k.kernel[a];
      begin[a] = std::max<int64_t>(0, start);
      end[a] = std::min(extent, stop);
      area *= double(k.counts_padding ? std::min(extent + k.pad[a], stop) - start : end[a] - begin[a]);
    }
    for (int64_t i = 0; i < in; ++i) {
      const int64_t place[3] = {i / x.shape[4] / x.shape[3], i / x.shape[4] % x.shape[3], i % x.shape[4]};
      bool inside = true;
      for (size_t a = 0; a < 3; ++a) inside = inside && begin[a] <= place[a] && place[a] < end[a];
      if (!inside) continue;
      sum += x[size_t(plane * in + i)];
      best = std::max(best, x[size_t(plane * in + i)]);
    }
    y[size_t(o)] = k.average ? sum / area : best;
  }
  return y;
}

void check_both(const std::string& options, Windows windows, const Shape& shape) {
  for (const bool average : {false, true}) {
    windows.average = average;
    SCOPED_TRACE((average ? "AVE " : "MAX ") + options + " of " + shape.str());
    check_layer({
        .layer = "type: 'Pooling' pooling_param { " + std::string(average ? "pool: AVE " : "") + options + " }",
        .x = {distinct(shape, 3, 0.01)},
        .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {pool(x[0], windows)}; },
    });
  }
}

TEST(VolumePooling, SupportsOneValueForAllAxes) {
  check_both("kernel_size_3d: 2 stride_3d: 2", {{2, 2, 2}, {2, 2, 2}, {0, 0, 0}}, {2, 3, 4, 5, 6});
  check_both("kernel_size_3d: 3 pad_3d: 1", {{3, 3, 3}, {1, 1, 1}, {1, 1, 1}}, {1, 2, 3, 4, 3});
  check_both("kernel_size_3d: 3 stride: 2 pad: 1", {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}}, {1, 2, 4, 5, 6});
}

TEST(VolumePooling, SupportsTheOptionsOfImages) {
  check_both("kernel_size: 2 stride: 2", {{2, 2, 2}, {2, 2, 2}, {0, 0, 0}}, {2, 3, 4, 5, 6});
  check_both("kernel_size: 3 pad: 1 stride: 2 round_mode: FLOOR", {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}, false, false},
             {1, 2, 3, 4, 3});
}

TEST(VolumePooling, SupportsOneValueForEachAxis) {
  check_both("kernel_size_3d: [1, 2, 3] stride_3d: [1, 2, 2] pad_3d: [0, 1, 1]", {{1, 2, 3}, {1, 2, 2}, {0, 1, 1}},
             {2, 2, 3, 5, 6});
}

TEST(VolumePooling, SupportsBothRoundings) {
  check_both("kernel_size_3d: 2 stride_3d: 2", {{2, 2, 2}, {2, 2, 2}, {0, 0, 0}}, {1, 2, 1, 3, 1});
  for (const std::string down : {"round_mode: FLOOR", "ceil_mode: false"})
    check_both("kernel_size_3d: 3 stride_3d: 2 " + down, {{3, 3, 3}, {2, 2, 2}, {0, 0, 0}, false, false},
               {1, 2, 4, 5, 6});
}

TEST(VolumePooling, SupportsDivisorsWithoutPadding) {
  check_both("kernel_size_3d: 3 stride_3d: 2 pad_3d: 1 avg_include_pad: false",
             {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}, false, true, false}, {1, 2, 4, 5, 6});
}

TEST(VolumePooling, SupportsDilation) {
  const auto check = [](const std::string& options, const Shape& shape, const std::vector<PoolingSide>& sides) {
    check_pooling("Pooling", "pooling_param", options, shape, sides);
  };
  check("kernel_size: 2 dilation: 2", {2, 3, 5, 6}, {{2, 1, 0, 2}, {2, 1, 0, 2}});
  check("kernel_size: 3 stride: 2 pad: 1 dilation: 2", {1, 2, 8, 7}, {{3, 2, 1, 2}, {3, 2, 1, 2}});
  check("kernel_size: 2 stride: 3 kstride: 3", {1, 2, 8, 9}, {{2, 3, 0, 3}, {2, 3, 0, 3}});
  check("kernel_h: 2 kernel_w: 3 stride_h: 2 stride_w: 1 pad_h: 0 pad_w: 2 dilation: [3, 2]", {1, 2, 7, 6},
        {{2, 2, 0, 3}, {3, 1, 2, 2}});
  check("kernel_size: 2 dilation: [1, 2, 3]", {1, 2, 3, 5, 6}, {{2}, {2, 1, 0, 2}, {2, 1, 0, 3}});
  check("kernel_size: 2 dilation: 4", {1, 2, 9}, {{2, 1, 0, 4}});
}

TEST(VolumePooling, SupportsListsForTwoAxes) {
  check_pooling("Pooling", "pooling_param", "kernel_size_3d: [3, 2] stride: 2", {1, 2, 5, 6}, {{3, 2}, {2, 2}});
}

TEST(VolumePooling, ReportsErrorsOfDilation) {
  const auto expect = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'Pooling' pooling_param { " + options + " }", {{1, 2, 4, 4}}, "pooling_param." + field,
                       words);
  };
  expect("kernel_size: 2 dilation: 0", "dilation[0]", "the dilation is 0");
  expect("kernel_size: 2 dilation: 4000000000", "dilation[0]", "too large");
  expect("kernel_size: 4000000000 dilation: 2000000000", "kernel_size", "larger than its padded input");
  expect("kernel_size: 3 dilation: 2", "kernel_size", "dilated to 5, larger than its padded input 4");
  expect("kernel_size: 2 dilation: [1, 2, 3]", "dilation[2]", "3 values for 2 axes");
  expect("kernel_size: 2 dilation: 2 kstride: 2", "kstride[0]", "both set");
  expect("global_pooling: true dilation: 2", "global_pooling", "contradicts");
  expect("kernel_size: 2 pool: STOCHASTIC dilation: 2", "pool", "only MAX and AVE");
  expect("kernel_h: 2 dilation: 2", "kernel_h", "only one side");
  expect_field_error("type: 'Pooling' top: 'a' top: 'b' pooling_param { kernel_size: 2 dilation: 2 }", {{1, 2, 4, 4}},
                     "top[1]", "second top");
}

TEST(VolumePooling, ReportsErrors) {
  const auto expect = [](const std::string& options, const std::string& field, const std::string& words,
                         const Shape& x = {1, 2, 4, 4, 4}) {
    expect_field_error("type: 'Pooling' pooling_param { " + options + " }", {x}, field, words);
  };
  expect("kernel_size_3d: 2", "bottom[0]", "need N x C x D x H x W", {1, 2, 4, 4});
  expect("kernel_size_3d: 0", "pooling_param.kernel_size_3d", "the window is 0");
  expect("kernel_size_3d: 4000000000 pad_3d: 3999999999", "pooling_param.kernel_size_3d", "too large");
  expect("kernel_size_3d: [2, 2]", "pooling_param.kernel_size_3d[1]", "2 values");
  expect("kernel_size_3d: 2 stride_3d: 0", "pooling_param.stride_3d", "the stride is 0");
  expect("kernel_size_3d: 2 pad_3d: 2", "pooling_param.pad_3d", "not smaller");
  expect("kernel_size_3d: [2, 2, 9]", "pooling_param.kernel_size_3d", "larger than its padded input 4, on axis 4");
  expect("kernel_size_3d: 2 kernel_size: 2", "pooling_param.kernel_size", "contradicts");
  expect("kernel_size_3d: 2 stride_3d: 2 stride: 2", "pooling_param.stride", "contradicts");
  expect("kernel_size_3d: 2 global_pooling: true", "pooling_param.global_pooling", "contradicts");
  expect("kernel_size: 5", "pooling_param.kernel_size", "larger than its padded input 4, on axis 2");
  expect("kernel_size: 2 stride_h: 2 stride_w: 2", "bottom[0]", "pooling needs N x C x H x W");
  expect("kernel_size_3d: 2 kernel_depth: 2", "pooling_param.kernel_depth", "contradicts");
  expect("kernel_size_3d: 2 pool: STOCHASTIC", "pooling_param.pool", "MAX and AVE");
  expect("kernel_size_3d: 2 axis: 2", "pooling_param.axis", "axis 2");
  expect_field_error("type: 'Pooling' top: 'a' top: 'b' pooling_param { kernel_size_3d: 2 }", {{1, 2, 4, 4, 4}},
                     "top[1]", "second top");
}

}  // namespace
}  // namespace cortado::harness
