#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"
#include "tests/layers/resized_by_shares.h"

namespace cortado::harness {
namespace {

std::string resize(const std::string& options) { return "type: 'Resize' resize_param { " + options + " }"; }

/// By the definition: the weights of all elements, most of them 0. Those after the last element are lost.
Array resized(const Array& x, int64_t h, int64_t w) {
  return resized_by_shares(x, h, w, [](int64_t place, int64_t out, int64_t at, int64_t in) {
    return std::max(0.0, 1 - std::fabs(double(place) * double(in) / double(out) - double(at)));
  });
}

void check(const std::string& options, const Shape& x, int64_t h, int64_t w, const Arrays& more = {}) {
  SCOPED_TRACE(options + " of " + x.str());
  Arrays all = {random(x, 1)};
  all.insert(all.end(), more.begin(), more.end());
  check_layer({
      .layer = resize(options),
      .x = all,
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {resized(x[0], h, w)}; },
      .channels_last = more.empty(),
  });
}

TEST(Resize, ResizesToHeightAndWidth) {
  check("height: 7 width: 9", {2, 20, 4, 3}, 7, 9);
  check("height: 2 width: 3", {2, 3, 5, 7}, 2, 3);
  check("height: 5 width: 4", {1, 16, 5, 4}, 5, 4);
  check("height: 1 width: 1", {1, 2, 3, 3}, 1, 1);
}

TEST(Resize, ResizesByScales) {
  check("is_pyramid_test: true out_height_scale: 2 out_width_scale: 0.5", {2, 3, 4, 6}, 8, 3);
  check("is_pyramid_test: true out_height_scale: 1.4 out_width_scale: 1", {2, 3, 4, 6}, 5, 6);
}

TEST(Resize, TakesTheSizeOfASecondBottom) { check("", {2, 3, 4, 6}, 5, 9, {random({1, 1, 5, 9}, 2)}); }

TEST(Resize, ReportsErrors) {
  expect_field_error(resize("height: 3"), {{1, 2, 3, 4}}, "resize_param.width", "0");
  expect_field_error(resize("is_pyramid_test: true out_width_scale: 1"), {{1, 2, 3, 4}},
                     "resize_param.out_height_scale", "above 0");
  expect_field_error(resize("is_pyramid_test: true out_height_scale: 0.1 out_width_scale: 1"), {{1, 2, 3, 4}},
                     "resize_param.out_height_scale", "0");
  expect_field_error(resize("height: 3 width: 3"), {{1, 2, 3}}, "bottom[0]", "its shape is 1x2x3");
}

}  // namespace
}  // namespace cortado::harness
