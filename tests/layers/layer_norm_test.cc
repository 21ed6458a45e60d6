#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// By the definition, for rows of `width` elements.
Array normalized(const Array& x, size_t width, double eps, const Arrays& w) {
  Array y(x.shape);
  for (size_t first = 0; first < x.size(); first += width) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < width; ++i) sum += x[first + i];
    for (size_t i = 0; i < width; ++i) squares += std::pow(x[first + i] - sum / double(width), 2);
    for (size_t i = 0; i < width; ++i) {
      const double n = (x[first + i] - sum / double(width)) / std::sqrt(squares / double(width) + eps);
      y[first + i] = w.empty() ? n : n * w[0][i] + w[1][i];
    }
  }
  return y;
}

LayerCase layer_norm(const std::string& options, const Shape& shape, size_t width, double eps = 1e-5) {
  return {
      .layer = "type: 'LayerNorm' layer_norm_param { " + options + " }",
      .x = {random(shape, 1, -1, 3)},
      .reference = [=](const Arrays& x, const Arrays& w) -> Arrays { return {normalized(x[0], width, eps, w)}; },
      .tolerance = 2e-4,
  };
}

TEST(LayerNorm, NormalizesTheLastAxis) { check_layer(layer_norm("", {3, 4, 7}, 7)); }
TEST(LayerNorm, NormalizesAllFromOneAxisOn) {
  check_layer(layer_norm("axis: 1", {3, 4, 2, 5}, 40));
  check_layer(layer_norm("axis: -2", {3, 4, 2, 5}, 10));
  check_layer(layer_norm("axis: 0", {3, 5}, 15));
}
TEST(LayerNorm, NormalizesOnly) { check_layer(layer_norm("affine: false", {5, 9}, 9)); }
TEST(LayerNorm, AddsEpsToTheVariance) { check_layer(layer_norm("eps: 0.5", {5, 9}, 9, 0.5)); }

TEST(LayerNorm, IsTheIdentityAtFirst) {
  const MadeLayer made("type: 'LayerNorm' layer_norm_param { axis: 1 }", "", {{2, 3, 4}});
  ASSERT_EQ(made.shapes.w.size(), 2u);
  EXPECT_EQ(made.shapes.w[0].shape, (Shape{3, 4}));
  EXPECT_EQ(made.shapes.w[0].filler.value(), 1);
  EXPECT_EQ(made.shapes.w[1].shape, (Shape{3, 4}));
  EXPECT_EQ(made.shapes.w[1].filler.value(), 0);
}

TEST(LayerNorm, UsesItsFillers) {
  const MadeLayer made(
      "type: 'LayerNorm' layer_norm_param { scale_filler { value: 2 } bias_filler { type: 'uniform' } }", "", {{2, 3}});
  EXPECT_EQ(made.shapes.w[0].filler.value(), 2);
  EXPECT_EQ(made.shapes.w[1].filler.type(), "uniform");
}

TEST(LayerNorm, IsTheBiasForEqualValues) {
  LayerRun run("type: 'LayerNorm'", {Array({2, 4}, 3.0)}, {}, {Array({4}, 5.0), Array({4}, {1, 2, 3, 4})});
  run.forward();
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{1, 2, 3, 4, 1, 2, 3, 4}));
}

TEST(LayerNorm, ReportsErrors) {
  const auto expect = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'LayerNorm' layer_norm_param { " + options + " }", {{2, 3}}, field, words);
  };
  expect("axis: 2", "layer_norm_param.axis", "axis 2 does not exist");
  expect("eps: 0", "layer_norm_param.eps", "above 0");
  expect("eps: nan", "layer_norm_param.eps", "above 0");
  expect("affine: false scale_filler { value: 1 }", "layer_norm_param.scale_filler", "without affine");
  expect("affine: false bias_filler { value: 1 }", "layer_norm_param.bias_filler", "without affine");
  expect("scale_filler { type: 'gausian' }", "layer_norm_param.scale_filler.type", "gausian");
}

}  // namespace
}  // namespace cortado::harness
