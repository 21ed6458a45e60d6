#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase flatten(const std::string& options, const Shape& from, const Shape& to) {
  return {
      .layer = "type: 'Flatten' flatten_param { " + options + " }",
      .x = {random(from, 1)},
      .reference = [to](const Arrays& x, const Arrays&) -> Arrays { return {Array(to, x[0].values)}; },
  };
}

TEST(Flatten, KeepsTheSampleAxis) { check_layer(flatten("", {2, 3, 4, 5}, {2, 60})); }
TEST(Flatten, SupportsAWindowOfAxes) { check_layer(flatten("axis: 1 end_axis: 2", {2, 3, 4, 5}, {2, 12, 5})); }
TEST(Flatten, CountsFromTheEnd) { check_layer(flatten("axis: -3 end_axis: -2", {2, 3, 4, 5}, {2, 12, 5})); }
TEST(Flatten, MergesAllAxes) { check_layer(flatten("axis: 0", {2, 3, 4}, {24})); }

TEST(Flatten, RejectsInvalidAxes) {
  expect_field_error("type: 'Flatten' flatten_param { axis: 4 }", {{2, 3, 4, 5}}, "flatten_param.axis",
                     "axis 4 does not exist");
  expect_field_error("type: 'Flatten' flatten_param { end_axis: -5 }", {{2, 3, 4, 5}}, "flatten_param.end_axis",
                     "2x3x4x5");
  expect_field_error("type: 'Flatten' flatten_param { axis: 2 end_axis: 1 }", {{2, 3, 4}}, "flatten_param.end_axis",
                     "after end_axis");
  expect_field_error("type: 'Flatten'", {{}}, "flatten_param.axis", "scalar");
}

}  // namespace
}  // namespace cortado::harness
