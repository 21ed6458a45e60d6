#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::string reshape(const std::string& options) { return "type: 'Reshape' reshape_param { " + options + " }"; }

Shape shape_after(const std::string& options, const Shape& x) {
  return MadeLayer(reshape(options), "", {x}).shapes.y[0];
}

TEST(Reshape, KeepsTheElementsInOrder) {
  check_layer({
      .layer = reshape("shape { dim: 0 dim: -1 dim: 2 }"),
      .x = {random({2, 3, 4, 5}, 1)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        return {Array({2, 30, 2}, x[0].values)};
      },
  });
}

TEST(Reshape, FollowsCaffesRules) {
  EXPECT_EQ(shape_after("shape { dim: 3 dim: 8 }", {2, 3, 4}), Shape({3, 8}));
  EXPECT_EQ(shape_after("shape { dim: -1 }", {2, 3, 4}), Shape({24}));
  EXPECT_EQ(shape_after("shape { dim: 0 dim: 0 dim: -1 }", {2, 3, 4, 5}), Shape({2, 3, 20}));
  EXPECT_EQ(shape_after("shape { dim: 2 dim: 2 } axis: 2", {2, 3, 4}), Shape({2, 3, 2, 2}));
  EXPECT_EQ(shape_after("shape { dim: 2 dim: -1 } axis: 1 num_axes: 1", {2, 6, 4}), Shape({2, 2, 3, 4}));
  EXPECT_EQ(shape_after("shape { dim: 1 } axis: -1", {2, 3}), Shape({2, 3, 1})) << "-1 is after the last axis";
  EXPECT_EQ(shape_after("shape { dim: 1 } axis: 0 num_axes: 0", {2, 3}), Shape({1, 2, 3}));
  EXPECT_EQ(shape_after("shape { } axis: 1 num_axes: 1", {2, 1, 3}), Shape({2, 3}));
  EXPECT_EQ(shape_after("shape { dim: 0 } axis: 1", {2, 3}), Shape({2, 3})) << "0 keeps the axis at the window's place";
  EXPECT_EQ(shape_after("shape { dim: 1 dim: 1 }", {}), Shape({1, 1}));
}

TEST(Reshape, ErrorsShowTheArithmetic) {
  const std::string field = "reshape_param.shape";
  expect_field_error(reshape("shape { dim: 5 dim: -1 }"), {{2, 3, 4}}, field,
                     "bottom[0] of shape 2x3x4 has 24 elements, which is not divisible by 5");
  expect_field_error(reshape("shape { dim: 5 dim: 5 }"), {{2, 3, 4}}, field, "the new shape 5x5 has 25");
  expect_field_error(reshape("shape { dim: -1 dim: -1 }"), {{2, 3}}, field, "two extents are -1");
  expect_field_error(reshape("shape { dim: -2 }"), {{2, 3}}, field, "-2 is negative");
  expect_field_error(reshape("shape { dim: 0 dim: 0 dim: 0 }"), {{2, 3}}, field, "entry 2 is 0");
  expect_field_error(reshape("shape { dim: -1 } axis: 3"), {{2, 3}}, "reshape_param.axis", "axis 3 does not exist");
  expect_field_error(reshape("shape { dim: -1 } axis: -4"), {{2, 3}}, "reshape_param.axis", "axis -4 does not exist");
  expect_field_error(reshape("shape { dim: -1 } axis: 1 num_axes: 2"), {{2, 3}}, "reshape_param.num_axes",
                     "2 axes from axis 1");
  expect_field_error(reshape("shape { dim: -1 } num_axes: -2"), {{2, 3}}, "reshape_param.num_axes", "-2");
  expect_field_error(reshape("shape { dim: -1 } pixelshuffler: 2"), {{2, 3}}, "reshape_param.pixelshuffler",
                     "does not move values");
  expect_field_error(reshape("shape { dim: 4611686018427387904 dim: 4 }"), {{2, 3}}, field, "more than any memory");
  expect_field_error(reshape("shape { dim: 1000000000000 dim: 1000000000000 }"), {{2, 3}}, field, "overflows");
}

}  // namespace
}  // namespace cortado::harness
