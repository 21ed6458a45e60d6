#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// y = x + b, where b is broadcast over all axes before it and over `inner` elements.
Array shifted(const Array& x, const Array& b, int64_t inner) {
  Array y = x;
  for (size_t i = 0; i < y.size(); ++i) y[i] += b[i / size_t(inner) % b.size()];
  return y;
}

LayerCase bias(const std::string& options, const Shape& shape, int64_t inner) {
  return {
      .layer = "type: 'Bias' bias_param { " + options + " }",
      .x = {random(shape, 1)},
      .reference = [=](const Arrays& x, const Arrays& w) -> Arrays { return {shifted(x[0], w[0], inner)}; },
  };
}

TEST(Bias, AddsToEachChannel) {
  check_layer(bias("", {2, 20, 3, 4}, 12));
  check_layer(bias("", {2, 32, 3, 4}, 12));
  check_layer(bias("axis: 0 num_axes: -1", {3, 5}, 1));
  check_layer(bias("num_axes: 0", {3, 5}, 15));
}

TEST(Bias, ReadsItFromASecondBottom) {
  check_layer({
      .layer = "type: 'Bias' bottom: 'x' bottom: 'b'",
      .x = {random({2, 3, 4}, 1), random({3}, 2)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays { return {shifted(x[0], x[1], 4)}; },
  });
  check_layer({
      .layer = "type: 'Bias' bottom: 'x' bottom: 'b' bias_param { axis: 0 }",  // its gradient may be in dy's memory
      .x = {random({2, 3, 4}, 1), random({2, 3, 4}, 2)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays { return {shifted(x[0], x[1], 1)}; },
  });
}

TEST(Bias, ReportsErrors) {
  expect_field_error("type: 'Bias' bottom: 'x' bottom: 'b'", {{1, 2, 3}, {2, 3, 1}}, "bottom[1]", "does not match");
  expect_field_error("type: 'Bias' bias_param { axis: -4 }", {{1, 2, 3}}, "bias_param.axis", "does not exist");
}

}  // namespace
}  // namespace cortado::harness
