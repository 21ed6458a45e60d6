#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

struct Side {
  int64_t kernel, stride = 1, pad = 0;
};

/// How many windows fit, by walking.
int64_t outputs(const Side& side, int64_t in) {
  int64_t n = 1;
  while ((n - 1) * side.stride + side.kernel < in + 2 * side.pad) ++n;
  if (side.pad > 0 && (n - 1) * side.stride >= in + side.pad) --n;
  return n;
}

/// Every place is asked whether it lies in the window; of any number of axes.
Array pool(const Array& x, const std::vector<Side>& sides, bool average) {
  Shape shape = x.shape;
  const int axes = int(sides.size());
  for (int a = 0; a < axes; ++a) shape[2 + a] = outputs(sides[size_t(a)], x.shape[2 + a]);
  Array y(shape);
  const int64_t in = x.shape.count(2), out = shape.count(2);
  for (int64_t o = 0; o < shape.count(); ++o) {
    double sum = 0, best = -DBL_MAX, size = 1;
    for (int64_t i = 0; i < in; ++i) {
      bool inside = true;
      int64_t at = i, to = o % out;
      size = 1;
      for (int a = axes - 1; a >= 0; --a) {
        const Side& s = sides[size_t(a)];
        const int64_t extent = x.shape[2 + a], place = at % extent, start = to % shape[2 + a] * s.stride - s.pad;
        inside = inside && place >= start && place < start + s.kernel;
        size *= double(std::min(start + s.kernel, extent + s.pad) - start);
        at /= extent, to /= shape[2 + a];
      }
      if (!inside) continue;
      sum += x[size_t(o / out * in + i)];
      best = std::max(best, x[size_t(o / out * in + i)]);
    }
    y[size_t(o)] = average ? sum / size : best;
  }
  return y;
}

void check(const std::string& message, const std::string& options, const Shape& shape, const std::vector<Side>& sides) {
  for (const bool average : {false, true}) {
    const std::string all = message + " { " + (average ? "pool: AVE " : "pool: MAX ") + options + " }";
    SCOPED_TRACE(all);
    check_layer({.layer = "type: 'Pooling3D' " + all,
                 .x = {distinct(shape, 3, 0.01)},
                 .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {pool(x[0], sides, average)}; }});
  }
}

TEST(Pooling3D, IsTheDefinition) {
  for (const std::string message : {"pooling_param", "pooling3d_param"}) {
    check(message, "kernel_size: 2 kernel_depth: 1 stride: 2", {2, 3, 4, 5, 6}, {{1}, {2, 2}, {2, 2}});
    check(message, "kernel_size: 3 kernel_depth: 2 stride: 2 temporal_stride: 2 pad: 1", {1, 2, 3, 4, 5},
          {{2, 2}, {3, 2, 1}, {3, 2, 1}});
    check(message, "kernel_size: 2 kernel_depth: 3 temporal_pad: 1", {1, 2, 3, 4, 3}, {{3, 1, 1}, {2}, {2}});
  }
}

TEST(Pooling3D, NamesWhatIsWrong) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words,
                          const Shape& x = {1, 2, 4, 4, 4}) {
    for (const std::string message : {"pooling_param", "pooling3d_param"}) {
      SCOPED_TRACE(options);
      expect_field_error("type: 'Pooling3D' " + message + " { " + options + " }", {x},
                         field.starts_with("bottom") ? field : message + field, words);
    }
  };
  refuses("kernel_size: 2", "", "kernel_depth is missing");
  refuses("kernel_depth: 2", "", "kernel_size is missing");
  refuses("kernel_size: 2 kernel_depth: 0", ".kernel_depth", "holds nothing");
  refuses("kernel_size: 2 kernel_depth: 2 temporal_stride: 0", ".temporal_stride", "never moves");
  refuses("kernel_size: 2 kernel_depth: 2 temporal_pad: 2", ".temporal_pad", "not smaller");
  refuses("kernel_size: 9 kernel_depth: 2", ".kernel_size", "larger than its padded input 4, on axis 3");
  refuses("kernel_size: 4000000000 kernel_depth: 2 pad: 3999999999", ".kernel_depth", "too large");
  refuses("kernel_size: 2 kernel_depth: 2 pool: STOCHASTIC", ".pool", "MAX or AVE");
  refuses("kernel_size: 2 kernel_depth: 2", "bottom[0]", "need N x C x D x H x W", {1, 2, 4, 4});
  const std::string window = "type: 'Pooling3D' pooling_param { kernel_size: 2 kernel_depth: 2 ";
  expect_field_error(window + "global_pooling: true }", {{1, 2, 4, 4, 4}}, "pooling_param.global_pooling",
                     "not available");
  expect_field_error(window + "} pooling3d_param { }", {{1, 2, 4, 4, 4}}, "pooling_param", "beside pooling3d_param");
}

}  // namespace
}  // namespace cortado::harness
