#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

struct Windows {
  int64_t size, pad = 0, stride = 1, dilation = 1;
  bool global = false;
};

Array attended(const Arrays& x, const Windows& w) {
  const Shape from = x[0].shape, to = x[1].shape;
  Array y({from[0], from[1], to[2], to[3]});
  size_t at = 0;
  for (int64_t n = 0; n < from[0]; ++n)
    for (int64_t c = 0; c < from[1]; ++c)
      for (int64_t i = 0; i < to[2]; ++i)
        for (int64_t j = 0; j < to[3]; ++j, ++at)
          for (int64_t u = 0; u < w.size; ++u)
            for (int64_t v = 0; v < w.size; ++v) {
              const int64_t r = (w.global ? 0 : i * w.stride) - w.pad + u * w.dilation;
              const int64_t s = (w.global ? 0 : j * w.stride) - w.pad + v * w.dilation;
              if (r < 0 || r >= from[2] || s < 0 || s >= from[3]) continue;
              y[at] += x[1][size_t(((n * to[1] + u * w.size + v) * to[2] + i) * to[3] + j)] *
                       x[0][size_t(((n * from[1] + c) * from[2] + r) * from[3] + s)];
            }
  return y;
}

void check(const std::string& layer, const Shape& x, const Shape& weights, const Windows& windows) {
  check_layer({.layer = layer,
               .x = {random(x, 1), random(weights, 2)},
               .reference = [=](const Arrays& in, const Arrays&) -> Arrays { return {attended(in, windows)}; }});
}

TEST(PwAttend, SumsLocalWindows) {
  const std::string local = "type: 'PwAttend' pw_attend_param { att_mode: LOCAL ";
  check(local + "kernel_size: 3 pad: 1 }", {2, 3, 4, 5}, {2, 9, 4, 5}, {.size = 3, .pad = 1});
  check(local + "kernel_size: 2 stride: 2 dilation: 2 }", {1, 3, 7, 6}, {1, 4, 3, 2},
        {.size = 2, .stride = 2, .dilation = 2});
}

TEST(PwAttend, SumsTheWholeMap) { check("type: 'PwAttend'", {2, 3, 4, 4}, {2, 16, 3, 2}, {.size = 4, .global = true}); }

TEST(PwAttend, ReportsErrors) {
  const auto expect = [](const std::string& options, const std::vector<Shape>& x, const std::string& field,
                         const std::string& words) {
    expect_field_error("type: 'PwAttend' pw_attend_param { " + options + " }", x, field, words);
  };
  const std::vector<Shape> x = {{2, 3, 4, 4}, {2, 9, 4, 4}};
  const std::string path = "pw_attend_param";
  expect("att_mode: LOCAL", x, path, "kernel_size is missing");
  expect("att_mode: LOCAL kernel_size: 0", x, path + ".kernel_size", "between 1 and 32768");
  expect("att_mode: LOCAL kernel_size: 3 stride: 0", x, path + ".stride", "between 1 and");
  expect("dilation: 4000000000", x, path + ".dilation", "between 1 and");
  expect("pad: 4000000000", x, path + ".pad", "between 0 and");
  expect("stride: 2", x, path + ".stride", "there is one window");
  expect("kernel_size: 3", x, "bottom[0]", "extends over 3 rows and columns, of a padded map of 4");
  expect("", x, "bottom[1]", "windows have 16 positions");
  expect("", {{2, 3, 4, 4}, {1, 16, 4, 4}}, "bottom[1]", "2 images");
  expect("att_mode: LOCAL kernel_size: 3", x, "bottom[1]", "it has 4 rows, but bottom[0] has 2 windows");
  expect("att_mode: LOCAL kernel_size: 9", x, "bottom[1]", "bottom[0] has 0 windows");
  expect("", {{2, 3, 4, 4}, {2, 16}}, "bottom[1]", "must have 4 axes");
}

}  // namespace
}  // namespace cortado::harness
