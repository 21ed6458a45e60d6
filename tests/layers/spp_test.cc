#include <gtest/gtest.h>

#include <algorithm>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Window o of `bins` along an axis.
struct Span {
  int64_t begin, end, length;  ///< inside the image, and with padding
};

Span span(int64_t in, int64_t bins, int64_t o) {
  const int64_t size = (in + bins - 1) / bins, pad = (size * bins - in + 1) / 2;
  const int64_t begin = o * size - pad, end = std::min(begin + size, in + pad);
  return {std::max<int64_t>(begin, 0), std::min(end, in), end - begin};
}

Array pyramid(const Array& x, int levels, bool average) {
  const int64_t n = x.shape[0], c = x.shape[1], height = x.shape[2], width = x.shape[3];
  std::vector<double> values;
  for (int64_t image = 0; image < n; ++image)
    for (int64_t bins = 1; bins < int64_t(1) << levels; bins *= 2)
      for (int64_t plane = image * c; plane < (image + 1) * c; ++plane)
        for (int64_t o = 0; o < bins * bins; ++o) {
          const Span rows = span(height, bins, o / bins), columns = span(width, bins, o % bins);
          double sum = 0, best = -1e9;
          for (int64_t h = rows.begin; h < rows.end; ++h)
            for (int64_t w = columns.begin; w < columns.end; ++w) {
              const double v = x[size_t((plane * height + h) * width + w)];
              sum += v;
              best = std::max(best, v);
            }
          values.push_back(average ? sum / double(rows.length * columns.length) : best);
        }
  const int64_t each = int64_t(values.size()) / n;
  return {levels == 1 ? Shape{n, c, 1, 1} : Shape{n, each}, values};
}

void check(const Shape& shape, int levels) {
  for (const bool average : {false, true}) {
    SCOPED_TRACE(shape.str() + (average ? " AVE" : " MAX"));
    check_layer({
        .layer = "type: 'SPP' spp_param { pyramid_height: " + std::to_string(levels) +
                 (average ? " pool: AVE }" : " pool: MAX }"),
        .x = {distinct(shape, 1, 0.01)},
        .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {pyramid(x[0], levels, average)}; },
    });
  }
}

TEST(Spp, PoolsAPyramid) {
  check({2, 3, 8, 8}, 3);
  check({2, 3, 7, 11}, 3);
  check({1, 2, 13, 9}, 2);
}

TEST(Spp, OneLevelIsAnImage) { check({2, 3, 5, 4}, 1); }

TEST(Spp, SizeDoesNotDependOnTheImage) {
  const std::string layer = "type: 'SPP' spp_param { pyramid_height: 3 }";
  EXPECT_EQ(MadeLayer(layer, "", {{2, 4, 13, 13}}).shapes.y[0], (Shape{2, 84}));
  EXPECT_EQ(MadeLayer(layer, "", {{2, 4, 10, 24}}).shapes.y[0], (Shape{2, 84}));
}

TEST(Spp, ReportsErrors) {
  const Shape x = {1, 2, 8, 8};
  expect_field_error("type: 'SPP'", {x}, "spp_param", "pyramid_height is missing");
  expect_field_error("type: 'SPP' spp_param { pyramid_height: 0 }", {x}, "spp_param.pyramid_height",
                     "pyramid_height is 0");
  expect_field_error("type: 'SPP' spp_param { pyramid_height: 4000000000 }", {x}, "spp_param.pyramid_height",
                     "level 4 has 16 windows of 1 along an axis of 8, with padding 4");
  expect_field_error("type: 'SPP' spp_param { pyramid_height: 2 pool: STOCHASTIC }", {x}, "spp_param.pool",
                     "does not support padding");
  expect_field_error("type: 'SPP' spp_param { pyramid_height: 2 }", {{1, 2}}, "bottom[0]", "its shape is 1x2");
}

}  // namespace
}  // namespace cortado::harness
