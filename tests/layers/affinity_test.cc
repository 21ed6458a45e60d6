#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

Array affinity(const Array& x, int64_t channel) {
  const int64_t height = x.shape[2], width = x.shape[3];
  Array y({x.shape[0], 2, height, width}, 0.0);
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    const auto value = [&](int64_t h, int64_t w) {
      return x[size_t(((n * x.shape[1] + channel) * height + h) * width + w)];
    };
    for (int64_t h = 0; h + 1 < height; ++h)
      for (int64_t w = 0; w + 1 < width; ++w) {
        y[size_t((n * 2 * height + h) * width + w)] = std::min(value(h, w), value(h + 1, w));
        y[size_t(((n * 2 + 1) * height + h) * width + w)] = std::min(value(h, w), value(h, w + 1));
      }
  }
  return y;
}

TEST(Affinity, IsTheSmallerOfTwoNeighbours) {
  check_layer({.layer = "type: 'Affinity' top: 'a' top: 'b' affinity_param { offset: 1 offset: 0 }",
               .x = {distinct({2, 2, 4, 5}, 1, 0.01), distinct({2, 1, 4, 3}, 2, 0.01)},
               .reference = [](const Arrays& x, const Arrays&) -> Arrays {
                 return {affinity(x[0], 1), affinity(x[1], 0)};
               }});
  check_layer({.layer = "type: 'Affinity'",
               .x = {distinct({1, 2, 1, 3}, 1, 0.01)},
               .reference = [](const Arrays& x, const Arrays&) -> Arrays { return {affinity(x[0], 0)}; }});
}

TEST(Affinity, PassesNanOn) {
  for (const size_t at : {0u, 1u, 2u}) {
    Array x({1, 1, 2, 2}, {1, 2, 3, 4});
    x[at] = NAN;
    LayerRun run("type: 'Affinity'", {x}, {.backward = false});
    run.forward();
    EXPECT_EQ(std::isnan(run.y()[0][0]), at != 1) << at;
    EXPECT_EQ(std::isnan(run.y()[0][4]), at != 2) << at;
  }
}

TEST(Affinity, ReportsErrors) {
  const std::string layer = "type: 'Affinity' affinity_param { offset: 2 }";
  expect_field_error(layer, {{1, 2, 4, 4}}, "affinity_param.offset[0]", "channel 2 does not exist in 1x2x4x4");
  expect_field_error("type: 'Affinity'", {{1, 0, 4, 4}}, "bottom[0]", "channel 0");
  expect_field_error("type: 'Affinity'", {{1, 2, 4}}, "bottom[0]", "N x C x H x W");
  expect_field_error("type: 'Affinity' top: 'a' top: 'b'", {{1, 2, 4, 4}}, "top", "1 bottom and 2 tops");
}

}  // namespace
}  // namespace cortado::harness
