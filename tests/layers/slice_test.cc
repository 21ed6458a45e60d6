#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

Arrays cut(const Array& x, int axis, const std::vector<int64_t>& extents) {
  Arrays parts;
  const int64_t whole = x.shape[axis], inner = x.shape.count(axis + 1);
  int64_t offset = 0;
  for (const int64_t extent : extents) {
    Shape shape = x.shape;
    shape[axis] = extent;
    Array part(shape);
    for (int64_t i = 0; i < int64_t(part.size()); ++i) {
      const int64_t s = i % inner, k = i / inner % extent, o = i / inner / extent;
      part[size_t(i)] = x[size_t((o * whole + offset + k) * inner + s)];
    }
    parts.push_back(part);
    offset += extent;
  }
  return parts;
}

LayerCase slice(const std::string& options, const Shape& shape, int axis, const std::vector<int64_t>& extents) {
  std::string tops;
  for (size_t i = 0; i < extents.size(); ++i) tops += " top: 'y" + std::to_string(i) + "'";
  return {
      .layer = "type: 'Slice'" + tops + " slice_param { " + options + " }",
      .x = {random(shape, 1)},
      .reference = [=](const Arrays& x, const Arrays&) { return cut(x[0], axis, extents); },
      .channels_last = true,
  };
}

TEST(Slice, SplitsAtItsPoints) { check_layer(slice("slice_point: 1 slice_point: 4", {2, 6, 2, 2}, 1, {1, 3, 2})); }
TEST(Slice, SplitsIntoEqualParts) { check_layer(slice("", {2, 6, 2, 2}, 1, {2, 2, 2})); }
TEST(Slice, SplitsWholeBlocksInAnyLayout) { check_layer(slice("slice_point: 16", {2, 48, 2, 3}, 1, {16, 32})); }
TEST(Slice, SplitsSamples) { check_layer(slice("axis: 0 slice_point: 1", {4, 3}, 0, {1, 3})); }
TEST(Slice, SplitsTheLastAxis) { check_layer(slice("axis: -1 slice_point: 2", {2, 3, 5}, 2, {2, 3})); }
TEST(Slice, AcceptsTheOldName) { check_layer(slice("slice_dim: 0", {4, 3}, 0, {2, 2})); }
TEST(Slice, PassesASingleTop) { check_layer(slice("", {2, 3}, 1, {3})); }

TEST(Slice, RejectsMismatchedShapes) {
  const std::string two = "type: 'Slice' top: 'a' top: 'b' slice_param { ",
                    three = "type: 'Slice' top: 'a' top: 'b' top: 'c' slice_param { ";
  expect_field_error(two + "}", {{2, 5}}, "slice_param", "extent 5 cannot be split into 2 equal parts");
  expect_field_error(three + "slice_point: 2 }", {{2, 5}}, "slice_param.slice_point[0]", "1 slice_point for 3 tops");
  expect_field_error(three + "slice_point: 3 slice_point: 3 }", {{2, 5}}, "slice_param.slice_point[1]", "from 3 to 3");
  expect_field_error(two + "slice_point: 0 }", {{2, 5}}, "slice_param.slice_point[0]", "from 0 to 0");
  expect_field_error(two + "slice_point: 5 }", {{2, 5}}, "slice_param.slice_point[0]", "from 5 to 5");
  expect_field_error(two + "slice_point: 4000000000 }", {{2, 5}}, "slice_param.slice_point[0]", "4000000000");
  expect_field_error(two + "axis: 2 slice_point: 1 }", {{2, 5}}, "slice_param.axis", "axis 2 does not exist");
  expect_field_error(two + "axis: 1 slice_dim: 1 }", {{2, 5}}, "slice_param.slice_dim", "both");
}

}  // namespace
}  // namespace cortado::harness
