#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Joins by coordinates: element (o, k, i) of part p lands at (o, offset of p + k, i).
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
TEST(Concat, KnowsTheOldName) { check_layer(concat("concat_dim: 0", 0, {{2, 3}, {1, 3}})); }
TEST(Concat, PassesASingleBottomOn) { check_layer(concat("", 1, {{2, 3, 2, 2}})); }
TEST(Concat, TakesEmptyParts) { check_layer(concat("", 1, {{2, 0, 2}, {2, 3, 2}})); }

/// Channel k of part p is channel k parts + p.
Array dealt_out(const Arrays& x) {
  Shape shape = x[0].shape;
  const int64_t parts = int64_t(x.size()), channels = shape[1], inner = shape.count(2);
  shape[1] *= parts;
  Array y(shape);
  for (int64_t p = 0; p < parts; ++p)
    for (int64_t i = 0; i < int64_t(x[0].size()); ++i) {
      const int64_t row = i / inner, n = row / channels, k = row % channels;
      y[size_t(((n * channels + k) * parts + p) * inner + i % inner)] = x[size_t(p)][size_t(i)];
    }
  return y;
}

TEST(Concat, TakesOverAShuffleOfEqualParts) {
  for (const Shape& part : {Shape{2, 10, 3, 2}, Shape{2, 3}, Shape{1, 4, 5}})
    for (const size_t parts : {2u, 3u}) {
      LayerCase layer_case = concat("", 1, std::vector<Shape>(parts, part));
      layer_case.reference = [](const Arrays& x, const Arrays&) -> Arrays { return {dealt_out(x)}; };
      layer_case.follower = "type: 'ShuffleChannel' shuffle_channel_param { group: " + std::to_string(parts) + " }";
      check_layer(layer_case);
    }
}

TEST(Concat, LeavesOtherShufflesAlone) {
  const auto absorbs = [](const std::vector<Shape>& x, const std::string& options = "", int64_t group = 2) {
    return MadeLayer("type: 'Concat' concat_param { " + options + " }",
                     "type: 'ShuffleChannel' shuffle_channel_param { group: " + std::to_string(group) + " }", x)
        .absorbed;
  };
  EXPECT_TRUE(absorbs({{2, 6, 2, 2}, {2, 6, 2, 2}}));
  EXPECT_FALSE(absorbs({{2, 6, 2, 2}, {2, 6, 2, 2}}, "", 3));
  EXPECT_FALSE(absorbs({{2, 6, 2, 2}, {2, 4, 2, 2}}));
  EXPECT_FALSE(absorbs({{2, 6, 2, 2}, {2, 6, 2, 2}}, "axis: 0"));
  EXPECT_FALSE(absorbs({{2, 16, 2, 2}, {2, 16, 2, 2}}));  // these stay in blocks
}

TEST(Concat, FollowsBlocksOnlyWhereEveryPartFillsThem) {
  const auto rule = [](const std::vector<Shape>& x) { return MadeLayer("type: 'Concat'", "", x).layer->layouts(); };
  EXPECT_EQ(rule({{2, 16, 2, 2}, {2, 32, 2, 2}}), LayoutRule::kFollow);
  EXPECT_EQ(rule({{2, 16, 2, 2}, {2, 20, 2, 2}}), LayoutRule::kPlain);
}

TEST(Concat, RefusesWhatDoesNotFit) {
  expect_field_error("type: 'Concat'", {{2, 3, 4}, {2, 3, 5}}, "bottom[1]", "2x3x5 does not fit bottom[0]'s 2x3x4");
  expect_field_error("type: 'Concat'", {{2, 3, 4}, {2, 3}}, "bottom[1]", "2x3");
  expect_field_error("type: 'Concat' concat_param { axis: 3 }", {{2, 3, 4}}, "concat_param.axis",
                     "axis 3 does not exist");
  expect_field_error("type: 'Concat' concat_param { axis: 1 concat_dim: 1 }", {{2, 3}}, "concat_param.concat_dim",
                     "both");
}

}  // namespace
}  // namespace cortado::harness
