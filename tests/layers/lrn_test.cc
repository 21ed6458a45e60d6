#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

struct Lrn {
  int64_t size = 5;
  double alpha = 1, beta = 0.75, k = 1;
};

size_t at(const Shape& s, int64_t n, int64_t c, int64_t h, int64_t w) {
  return size_t(((n * s[1] + c) * s[2] + h) * s[3] + w);
}

/// Sums squares over every existing neighbour, by the definition.
Array normalise(const Array& x, const Lrn& o, bool within) {
  const Shape& s = x.shape;
  const int64_t half = o.size / 2;
  Array y(s);
  for (int64_t n = 0; n < s[0]; ++n)
    for (int64_t c = 0; c < s[1]; ++c)
      for (int64_t h = 0; h < s[2]; ++h)
        for (int64_t w = 0; w < s[3]; ++w) {
          double squares = 0;
          for (int64_t d = -half; d <= half; ++d) {
            if (!within && c + d >= 0 && c + d < s[1]) squares += x[at(s, n, c + d, h, w)] * x[at(s, n, c + d, h, w)];
            for (int64_t e = -half; within && e <= half; ++e) {
              if (h + d < 0 || h + d >= s[2] || w + e < 0 || w + e >= s[3]) continue;
              squares += x[at(s, n, c, h + d, w + e)] * x[at(s, n, c, h + d, w + e)];
            }
          }
          const double scale =
              within ? 1 + o.alpha / double(o.size * o.size) * squares : o.k + o.alpha / double(o.size) * squares;
          y[at(s, n, c, h, w)] = x[at(s, n, c, h, w)] * std::pow(scale, -o.beta);
        }
  return y;
}

LayerCase lrn(const Lrn& o, const Shape& shape, bool within) {
  return {
      .layer = "type: 'LRN' lrn_param { local_size: " + std::to_string(o.size) + " alpha: " + std::to_string(o.alpha) +
               " beta: " + std::to_string(o.beta) + " k: " + std::to_string(o.k) +
               (within ? " norm_region: WITHIN_CHANNEL }" : " }"),
      .x = {random(shape, 5, -2, 2)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {normalise(x[0], o, within)}; },
  };
}

TEST(Lrn, NormalizesAcrossChannels) {
  check_layer(lrn({}, {2, 20, 3, 4}, false));
  check_layer(lrn({.k = 2}, {1, 32, 3, 7}, false));
  check_layer(lrn({.size = 3, .alpha = 0.5, .beta = 0.5}, {1, 20, 5, 5}, false));
  check_layer(lrn({.size = 7, .beta = 0.6, .k = 1.5}, {1, 20, 2, 3}, false));
}

TEST(Lrn, AcceptsWindowsLargerThanTheChannels) { check_layer(lrn({.size = 31}, {1, 3, 4, 5}, false)); }

TEST(Lrn, NormalizesWithinAChannel) {
  check_layer(lrn({.size = 3}, {2, 20, 5, 7}, true));
  check_layer(lrn({.size = 5, .beta = 1}, {1, 20, 4, 4}, true));
}

TEST(Lrn, AcceptsWindowsLargerThanTheImage) { check_layer(lrn({.size = 9}, {1, 3, 4, 3}, true)); }

TEST(Lrn, IgnoresKWithinAChannel) {
  LayerCase layer_case = lrn({.size = 3, .k = 1}, {1, 2, 4, 4}, true);
  layer_case.layer = "type: 'LRN' lrn_param { local_size: 3 k: 5 norm_region: WITHIN_CHANNEL }";
  check_layer(layer_case);
}

TEST(Lrn, ReportsErrors) {
  expect_field_error("type: 'LRN' lrn_param { local_size: 4 }", {{1, 3, 5, 5}}, "lrn_param.local_size", "must be odd");
  expect_field_error("type: 'LRN' lrn_param { local_size: 0 }", {{1, 3, 5, 5}}, "lrn_param.local_size", "must be odd");
  expect_field_error("type: 'LRN'", {{3, 5}}, "bottom[0]", "needs N x C x H x W");
}

}  // namespace
}  // namespace cortado::harness
