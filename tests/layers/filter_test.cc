#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kLayer = "type: 'Filter' top: 'a' top: 'b'";

/// The selected rows, padded with zeros to the shape of x.
Array chosen(const Array& x, const Array& selector) {
  const size_t width = size_t(x.shape.count(1));
  Array y(x.shape);
  size_t at = 0;
  for (size_t row = 0; row < selector.size(); ++row)
    for (size_t i = 0; i < width && selector[row] != 0; ++i) y[at++] = x[row * width + i];
  return y;
}

TEST(Filter, ReturnsTheSelectedRows) {
  Array selector({5}, 1);
  selector[1] = selector[4] = 0;
  selector[2] = -0.5;
  check_layer({.layer = kLayer,
               .x = {random({5, 3, 2}, 1), random({5}, 2), selector},
               .reference = [](const Arrays& x, const Arrays&) -> Arrays {
                 return {chosen(x[0], x[2]), chosen(x[1], x[2])};
               }});
}

TEST(Filter, AcceptsAnEmptySelection) {
  check_layer({.layer = "type: 'Filter'",
               .x = {random({3, 4, 1, 1}, 1), Array({3, 1, 1, 1}, 0)},
               .reference = [](const Arrays& x, const Arrays&) -> Arrays { return {Array(x[0].shape)}; }});
}

TEST(Filter, ReportsErrors) {
  expect_field_error(kLayer, {{5, 3}, {5}}, "top", "2 bottoms and 2 tops");
  expect_field_error(kLayer, {{5, 3}, {5}, {5, 2}}, "bottom[2]", "the selector's shape is 5x2");
  expect_field_error(kLayer, {{5, 3}, {4}, {5}}, "bottom[1]", "but the selector has 5 values");
}

}  // namespace
}  // namespace cortado::harness
