#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// The element of x at these positions on its axes.
double at(const Array& x, const std::vector<int64_t>& place) {
  int64_t i = 0;
  for (int a = 0; a < x.shape.axes(); ++a) i = i * x.shape[a] + place[size_t(a)];
  return x[size_t(i)];
}

/// Position by position; a bottom counts as zeros where its weight is 0.
Array merged(const Array& a, const Array& b, bool adds, double weight_a, double weight_b) {
  Shape shape = a.shape;
  if (!adds) shape[1] += b.shape[1];
  Array y(shape);
  for (size_t i = 0; i < y.size(); ++i) {
    std::vector<int64_t> own(size_t(shape.axes())), other;
    int64_t rest = int64_t(i);
    for (int axis = shape.axes() - 1; axis >= 0; --axis) own[size_t(axis)] = rest % shape[axis], rest /= shape[axis];
    other = own;
    for (int axis = 2; axis < shape.axes(); ++axis) other[size_t(axis)] += (b.shape[axis] - a.shape[axis]) / 2;
    const bool first = own[1] < a.shape[1];
    if (!adds) other[1] -= a.shape[1];
    y[i] = (first ? weight_a * at(a, own) : 0) + (adds || !first ? weight_b * at(b, other) : 0);
  }
  return y;
}

LayerCase merge(const std::string& options, const Shape& a, const Shape& b, bool adds = false, double weight_a = 1,
                double weight_b = 1) {
  return {.layer = "type: 'MergeCrop' mergecrop_param { " + options + " }",
          .x = {random(a, 1), random(b, 2)},
          .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
            return {merged(x[0], x[1], adds, weight_a, weight_b)};
          }};
}

const std::string kBoth = "backward: true backward: true ";

TEST(MergeCrop, TakesTheMiddleOfTheSecond) {
  check_layer(merge(kBoth, {2, 3, 4, 5}, {2, 2, 7, 9}));
  check_layer(merge(kBoth, {2, 2, 4, 5}, {2, 5, 4, 6}));
  check_layer(merge(kBoth, {1, 2, 2, 3, 2}, {1, 3, 5, 3, 6}));
  check_layer(merge(kBoth, {2, 2, 3}, {2, 1, 4}));
}

TEST(MergeCrop, AddsValues) {
  check_layer(merge(kBoth + "operation: ADD", {2, 3, 4, 5}, {2, 3, 7, 9}, true));
  check_layer(merge(kBoth + "operation: ADD forward: false forward: true", {1, 3, 2, 2}, {1, 3, 4, 3}, true, 0, 1));
}

TEST(MergeCrop, LeavesOutValuesAndGradients) {
  check_layer(merge("", {2, 3, 4, 5}, {2, 2, 7, 9}));
  check_layer(merge(kBoth + "forward: true forward: false", {2, 3, 4, 5}, {2, 2, 7, 9}, false, 1, 0));
  const std::vector<Shape> x = {{1, 1, 2, 2}, {1, 1, 4, 4}};
  const auto differentiable = [&](const std::string& options) {
    const MadeLayer made("type: 'MergeCrop' mergecrop_param { " + options + " }", "", x);
    return std::vector<bool>{made.layer->differentiable(0), made.layer->differentiable(1)};
  };
  EXPECT_EQ(differentiable(""), (std::vector<bool>{true, false}));
  EXPECT_EQ(differentiable("backward: false"), (std::vector<bool>{false, false}));
  EXPECT_EQ(differentiable(kBoth), (std::vector<bool>{true, true}));
}

TEST(MergeCrop, AcceptsEmptyInputs) { check_layer(merge(kBoth, {2, 3, 0, 5}, {2, 2, 2, 9})); }

TEST(MergeCrop, ReportsErrors) {
  const std::string layer = "type: 'MergeCrop' mergecrop_param { ";
  const std::vector<Shape> x = {{1, 2, 4, 4}, {1, 3, 6, 6}};
  expect_field_error(layer + "operation: ADD }", x, "bottom[1]", "its shape is 1x3x6x6, but bottom[0] has 1x2x4x4");
  expect_field_error(layer + "forward: [true, true, true] }", x, "mergecrop_param.forward[2]", "3 values");
  expect_field_error(layer + "backward: [true, true, true] }", x, "mergecrop_param.backward[2]", "3 values");
  expect_field_error(layer + "}", {{1, 2, 4, 4}, {2, 3, 6, 6}}, "bottom[1]", "2x3x6x6");
  expect_field_error(layer + "}", {{1, 2, 4, 4}, {1, 3, 6, 3}}, "bottom[1]", "1x3x6x3");
  expect_field_error(layer + "}", {{1, 2, 4, 4}, {1, 3, 6}}, "bottom[1]", "1x3x6");
  expect_field_error(layer + "}", {{1, 2}, {1, 3}}, "bottom[0]", "MergeCrop needs");
}

}  // namespace
}  // namespace cortado::harness
