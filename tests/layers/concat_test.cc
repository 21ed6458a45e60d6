#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Concatenates by coordinates: element (o, k, i) of part p is stored at (o, offset of p + k, i).
Array joined(const Arrays& x, int axis) {
  Shape shape = x[0].shape;
  shape[axis] = 0;
  for (const Array& part : x) shape[axis] += part.shape[axis];
  Array y(shape);
  int64_t offset = 0;
  for (const Array& part : x) {
    const int64_t extent = part.shape[axis], inner = part.shape.count(axis + 1);
    for (int64_t i = 0; i < int64_t(part.size()); ++i) {
      const int64_t s = i % inner, k = i / inner % extent, o = i / inner / extent;
      y[size_t((o * shape[axis] + offset + k) * inner + s)] = part[size_t(i)];
    }
    offset += extent;
  }
  return y;
}

LayerCase concat(const std::string& options, int axis, const std::vector<Shape>& shapes) {
  LayerCase layer_case{
      .layer = "type: 'Concat' concat_param { " + options + " }",
      .x = {},
      .reference = [axis](const Arrays& x, const Arrays&) -> Arrays { return {joined(x, axis)}; },
      .channels_last = true,
  };
  for (size_t i = 0; i < shapes.size(); ++i) layer_case.x.push_back(random(shapes[i], i + 1));
  return layer_case;
}

TEST(Concat, JoinsChannels) { check_layer(concat("", 1, {{2, 3, 2, 2}, {2, 5, 2, 2}, {2, 1, 2, 2}})); }
TEST(Concat, JoinsWholeBlocksInAnyLayout) { check_layer(concat("", 1, {{2, 16, 2, 3}, {2, 32, 2, 3}})); }
TEST(Concat, JoinsSamples) { check_layer(concat("axis: 0", 0, {{2, 3}, {4, 3}})); }
TEST(Concat, JoinsTheLastAxis) { check_layer(concat("axis: -1", 3, {{2, 3, 2, 2}, {2, 3, 2, 5}})); }
TEST(Concat, AcceptsTheOldName) { check_layer(concat("concat_dim: 0", 0, {{2, 3}, {1, 3}})); }
TEST(Concat, PassesASingleBottom) { check_layer(concat("", 1, {{2, 3, 2, 2}})); }
TEST(Concat, AcceptsEmptyParts) { check_layer(concat("", 1, {{2, 0, 2}, {2, 3, 2}})); }

TEST(Concat, RunsInBlocksOnlyIfEveryPartFillsThem) {
  const auto rule = [](const std::vector<Shape>& x) {
    return MadeLayer("type: 'Concat'", "", x).layer->storage({}).layout;
  };
  EXPECT_EQ(rule({{2, 16, 2, 2}, {2, 32, 2, 2}}), LayoutRule::kFollow);
  EXPECT_EQ(rule({{2, 16, 2, 2}, {2, 20, 2, 2}}), LayoutRule::kPlain);
}

TEST(Concat, RejectsMismatchedShapes) {
  expect_field_error("type: 'Concat'", {{2, 3, 4}, {2, 3, 5}}, "bottom[1]", "2x3x5 does not match bottom[0]'s 2x3x4");
  expect_field_error("type: 'Concat'", {{2, 3, 4}, {2, 3}}, "bottom[1]", "2x3");
  expect_field_error("type: 'Concat' concat_param { axis: 3 }", {{2, 3, 4}}, "concat_param.axis",
                     "axis 3 does not exist");
  expect_field_error("type: 'Concat' concat_param { axis: 1 concat_dim: 1 }", {{2, 3}}, "concat_param.concat_dim",
                     "both");
}

}  // namespace
}  // namespace cortado::harness
