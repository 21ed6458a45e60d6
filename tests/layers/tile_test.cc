#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

Array repeated(const Array& x, int axis, int64_t tiles) {
  Shape shape = x.shape;
  shape[axis] *= tiles;
  Array y(shape);
  const int64_t inner = shape.count(axis + 1), extent = x.shape[axis];
  for (int64_t i = 0; i < int64_t(y.size()); ++i) {
    const int64_t outer = i / inner / shape[axis], at = i / inner % shape[axis] % extent;
    y[size_t(i)] = x[size_t((outer * extent + at) * inner + i % inner)];
  }
  return y;
}

LayerCase tile(const std::string& options, const Shape& shape, int axis, int64_t tiles) {
  return {
      .layer = "type: 'Tile' tile_param { " + options + " }",
      .x = {random(shape, 1)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {repeated(x[0], axis, tiles)}; },
  };
}

TEST(Tile, RepeatsChannels) { check_layer(tile("tiles: 3", {2, 3, 2, 2}, 1, 3)); }
TEST(Tile, RepeatsSamples) { check_layer(tile("tiles: 2 axis: 0", {2, 3}, 0, 2)); }
TEST(Tile, RepeatsTheLastAxis) { check_layer(tile("tiles: 4 axis: -1", {2, 3, 5}, 2, 4)); }
TEST(Tile, PassesOneTile) { check_layer(tile("tiles: 1", {2, 3}, 1, 1)); }

TEST(Tile, RejectsMismatchedShapes) {
  expect_field_error("type: 'Tile'", {{2, 3}}, "tile_param", "tiles is missing");
  expect_field_error("type: 'Tile' tile_param { tiles: 0 }", {{2, 3}}, "tile_param.tiles", "tiles is 0");
  expect_field_error("type: 'Tile' tile_param { tiles: -2 }", {{2, 3}}, "tile_param.tiles", "tiles is -2");
  expect_field_error("type: 'Tile' tile_param { tiles: 2 axis: 2 }", {{2, 3}}, "tile_param.axis", "axis 2");
  expect_field_error("type: 'Tile' tile_param { tiles: 2147483647 }", {{1 << 20, 1 << 20}}, "tile_param.tiles", "");
}

}  // namespace
}  // namespace cortado::harness
