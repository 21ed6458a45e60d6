#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// `offsets`: of all axes.
Array window(const Array& x, const Shape& shape, const std::vector<int64_t>& offsets) {
  Array y(shape);
  for (size_t i = 0; i < y.size(); ++i) {
    int64_t rest = int64_t(i), from = 0, pitch = 1;
    for (int a = shape.axes() - 1; a >= 0; --a) {
      from += (rest % shape[a] + offsets[size_t(a)]) * pitch;
      rest /= shape[a];
      pitch *= x.shape[a];
    }
    y[i] = x[size_t(from)];
  }
  return y;
}

LayerCase crop(const std::string& options, const Shape& x, const Shape& like, const Shape& y,
               const std::vector<int64_t>& offsets) {
  return {
      .layer = "type: 'Crop' crop_param { " + options + " }",
      .x = {random(x, 1), random(like, 2)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {window(x[0], y, offsets)}; },
  };
}

TEST(Crop, CropsTheCornerByDefault) { check_layer(crop("", {2, 3, 6, 5}, {9, 9, 4, 2}, {2, 3, 4, 2}, {0, 0, 0, 0})); }
TEST(Crop, SupportsOneOffsetForAllAxes) {
  check_layer(crop("offset: 2", {2, 3, 6, 5}, {1, 1, 4, 2}, {2, 3, 4, 2}, {0, 0, 2, 2}));
}
TEST(Crop, SupportsOneOffsetForEachAxis) {
  check_layer(crop("offset: 2 offset: 3", {2, 3, 6, 5}, {1, 1, 4, 2}, {2, 3, 4, 2}, {0, 0, 2, 3}));
}
TEST(Crop, CropsChannels) {
  check_layer(crop("axis: 1 offset: 1 offset: 2 offset: 0", {2, 3, 6, 5}, {1, 2, 4, 2}, {2, 2, 4, 2}, {0, 1, 2, 0}));
}
TEST(Crop, CropsAllAxes) {
  check_layer(crop("axis: 0 offset: 1", {3, 3, 6, 5}, {2, 1, 4, 2}, {2, 1, 4, 2}, {1, 1, 1, 1}));
}
TEST(Crop, CropsTheLastAxis) {
  check_layer(crop("axis: -1 offset: 3", {2, 3, 6, 5}, {1, 1, 1, 2}, {2, 3, 6, 2}, {0, 0, 0, 3}));
}
TEST(Crop, CropsFiveAxes) {
  check_layer(
      crop("offset: 0 offset: 1 offset: 2", {2, 3, 4, 3, 5}, {1, 1, 2, 2, 3}, {2, 3, 2, 2, 3}, {0, 0, 0, 1, 2}));
}
TEST(Crop, CropsAVector) { check_layer(crop("axis: 0 offset: 2", {7}, {4}, {4}, {2})); }
TEST(Crop, AcceptsEmptyInputs) { check_layer(crop("", {2, 3, 6, 5}, {1, 1, 4, 0}, {2, 3, 4, 0}, {0, 0, 0, 0})); }

TEST(Crop, HasNoGradientForTheSize) {
  EXPECT_FALSE(MadeLayer("type: 'Crop'", "", {{1, 1, 4, 4}, {1, 1, 2, 2}}).layer->differentiable(1));
}

TEST(Crop, RejectsMismatchedShapes) {
  const std::string layer = "type: 'Crop' crop_param { ";
  const std::vector<Shape> x = {{1, 2, 6, 6}, {1, 1, 4, 4}};
  expect_field_error(layer + "offset: 3 }", x, "crop_param.offset[0]", "from 3 to 7 of axis 2, whose extent is 6");
  expect_field_error(layer + "offset: 2 offset: 3 }", x, "crop_param.offset[1]", "axis 3");
  expect_field_error(layer + "offset: 4294967295 }", x, "crop_param.offset[0]", "4294967295");
  expect_field_error(layer + "offset: 1 offset: 1 offset: 1 }", x, "crop_param.offset[2]", "3 offsets for 2 cropped");
  expect_field_error(layer + "axis: 4 }", x, "crop_param.axis", "axis 4 does not exist");
  expect_field_error("type: 'Crop'", {{1, 2, 6, 6}, {1, 1, 7, 4}}, "bottom[1]", "from 0 to 7");
  expect_field_error("type: 'Crop'", {{1, 2, 6, 6}, {4, 4}}, "bottom[1]", "4x4, but bottom[0] has 1x2x6x6");
}

}  // namespace
}  // namespace cortado::harness
