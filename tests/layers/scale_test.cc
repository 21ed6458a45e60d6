#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// y = x * g + b, where g and b are broadcast over `outer` and over `inner` elements.
Array scaled(const Array& x, const Array& g, const Array* b, int64_t inner) {
  Array y = x;
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t c = i / size_t(inner) % g.size();
    y[i] = y[i] * g[c] + (b ? (*b)[c] : 0);
  }
  return y;
}

LayerCase scale(const std::string& options, const Shape& shape, int64_t inner, bool bias) {
  return {
      .layer = "type: 'Scale' scale_param { " + options + (bias ? " bias_term: true }" : " }"),
      .x = {random(shape, 1)},
      .reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
        return {scaled(x[0], w[0], bias ? &w[1] : nullptr, inner)};
      },
  };
}

TEST(Scale, MultipliesEachChannel) {
  for (const bool with_bias : {false, true}) {
    check_layer(scale("", {2, 20, 3, 4}, 12, with_bias));
    check_layer(scale("", {2, 32, 3, 4}, 12, with_bias));  // in blocks
    check_layer(scale("", {4, 7}, 1, with_bias));
    check_layer(scale("axis: 2", {2, 3, 4, 5}, 5, with_bias));
    check_layer(scale("axis: 1 num_axes: 2", {2, 3, 4, 5}, 5, with_bias));
    check_layer(scale("axis: -3 num_axes: -1", {2, 3, 4, 5}, 1, with_bias));
    check_layer(scale("num_axes: 0", {2, 3, 4, 5}, 120, with_bias));
  }
}

TEST(Scale, ReadsFactorsFromASecondBottom) {
  LayerCase layer_case = {
      .layer = "type: 'Scale' bottom: 'x' bottom: 'g' scale_param { axis: 0 }",
      .x = {random({2, 3, 4}, 1), random({2, 3}, 2)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays { return {scaled(x[0], x[1], nullptr, 4)}; },
  };
  check_layer(layer_case);
  layer_case.layer = "type: 'Scale' bottom: 'x' bottom: 'g' scale_param { axis: 0 bias_term: true }";
  layer_case.reference = [](const Arrays& x, const Arrays& w) -> Arrays { return {scaled(x[0], x[1], &w[0], 4)}; };
  check_layer(layer_case);
}

/// Then the gradient of the second bottom may be in the memory of dy.
TEST(Scale, ReadsAsManyFactorsFromASecondBottom) {
  for (const bool with_bias : {false, true})
    check_layer({
        .layer = std::string("type: 'Scale' bottom: 'x' bottom: 'g' scale_param { axis: 0 ") +
                 (with_bias ? "bias_term: true }" : "}"),
        .x = {random({2, 3, 4}, 1), random({2, 3, 4}, 2)},
        .reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
          return {scaled(x[0], x[1], with_bias ? &w[0] : nullptr, 1)};
        },
    });
}

TEST(Scale, ReadsAScalarFromASecondBottom) {
  check_layer({
      .layer = "type: 'Scale' bottom: 'x' bottom: 'g' scale_param { axis: 0 }",
      .x = {random({2, 3}, 1), random(Shape(), 2)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays { return {scaled(x[0], x[1], nullptr, 6)}; },
  });
}

TEST(Scale, StartsWithOneByDefault) {
  const MadeLayer plain("type: 'Scale'", "", {{2, 3}}),
      filled("type: 'Scale' scale_param { filler { value: 5 } }", "", {{2, 3}});
  EXPECT_EQ(plain.shapes.w[0].filler.value(), 1);
  EXPECT_EQ(filled.shapes.w[0].filler.value(), 5);
}

TEST(Scale, ReportsErrors) {
  expect_field_error("type: 'Scale' scale_param { axis: 4 }", {{1, 2, 3, 4}}, "scale_param.axis", "does not exist");
  expect_field_error("type: 'Scale' scale_param { num_axes: -2 }", {{1, 2, 3, 4}}, "scale_param.num_axes",
                     "must be -1");
  expect_field_error("type: 'Scale' scale_param { axis: 2 num_axes: 3 }", {{1, 2, 3, 4}}, "scale_param.num_axes",
                     "more than bottom[0] has");
  expect_field_error("type: 'Scale' bottom: 'x' bottom: 'g'", {{1, 2, 3}, {3}}, "bottom[1]",
                     "does not match bottom[0]");
}

}  // namespace
}  // namespace cortado::harness
