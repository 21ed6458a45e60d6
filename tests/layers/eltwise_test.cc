#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const Shape kShape{2, 20, 3, 2};

Arrays inputs(size_t n) {
  Arrays x;
  for (size_t i = 0; i < n; ++i) x.push_back(random(kShape, i + 1, 0.3, 1.5));
  return x;
}

/// Reads the bottoms of one element in order.
template <typename Join>
std::function<Arrays(const Arrays&, const Arrays&)> joined(const Join& join) {
  return [join](const Arrays& x, const Arrays&) -> Arrays {
    Array y = x[0];
    for (size_t i = 0; i < y.size(); ++i) y[i] = join(x, i);
    return {y};
  };
}

double sum_at(const Arrays& x, size_t i, const std::vector<double>& coeff) {
  double sum = 0;
  for (size_t k = 0; k < x.size(); ++k) sum += coeff[k] * x[k][i];
  return sum;
}

LayerCase sum(const std::string& options, const std::vector<double>& coeff) {
  return {
      .layer = "type: 'Eltwise' eltwise_param { " + options + " }",
      .x = inputs(coeff.size()),
      .reference = joined([coeff](const Arrays& x, size_t i) { return sum_at(x, i, coeff); }),
      .channels_last = true,
  };
}

/// Sums on both sides of 0, none near it.
LayerCase rectified_sum(const std::string& options, const std::vector<double>& coeff) {
  LayerCase layer_case = sum(options, coeff);
  layer_case.follower = "type: 'ReLU'";
  for (Array& x : layer_case.x) x = map(x, [](double v) { return v - 0.9; });
  for (size_t i = 0; i < layer_case.x[0].size(); ++i)
    while (std::abs(sum_at(layer_case.x, i, coeff)) < 0.05) layer_case.x[0][i] += 0.125;
  layer_case.reference = joined([coeff](const Arrays& x, size_t i) { return std::max(0.0, sum_at(x, i, coeff)); });
  return layer_case;
}

TEST(Eltwise, Adds) { check_layer(sum("", {1, 1})); }
TEST(Eltwise, AddsFour) { check_layer(sum("operation: SUM", {1, 1, 1, 1})); }
TEST(Eltwise, AddsWithCoefficients) { check_layer(sum("coeff: 1 coeff: -2", {1, -2})); }
TEST(Eltwise, AddsThreeWithCoefficients) { check_layer(sum("coeff: 0.5 coeff: -2 coeff: 3", {0.5, -2, 3})); }

TEST(Eltwise, FusesARelu) { check_layer(rectified_sum("", {1, 1})); }
TEST(Eltwise, FusesAReluAfterThreeBottoms) { check_layer(rectified_sum("", {1, 1, 1})); }
TEST(Eltwise, FusesAReluAfterCoefficients) { check_layer(rectified_sum("coeff: 1 coeff: -0.5", {1, -0.5})); }

TEST(Eltwise, DoesNotFuseOtherLayers) {
  const std::vector<Shape> x = {kShape, kShape};
  EXPECT_FALSE(MadeLayer("type: 'Eltwise'", "type: 'ReLU' relu_param { negative_slope: 0.1 }", x).absorbed);
  EXPECT_FALSE(MadeLayer("type: 'Eltwise'", "type: 'TanH'", x).absorbed);
  EXPECT_FALSE(MadeLayer("type: 'Eltwise' eltwise_param { operation: MAX }", "type: 'ReLU'", x).absorbed);
}

TEST(Eltwise, PropagatesThePlainSumsGradient) {
  const LayerRun plain("type: 'Eltwise'", inputs(2));
  EXPECT_TRUE(plain.needs().aliasing.dx_is_dy);
  const LayerRun scaled("type: 'Eltwise' eltwise_param { coeff: 1 coeff: 2 }", inputs(2));
  EXPECT_FALSE(scaled.needs().aliasing.dx_is_dy);
}

LayerCase product(size_t n) {
  return {
      .layer = "type: 'Eltwise' eltwise_param { operation: PROD }",
      .x = inputs(n),
      .reference = joined([](const Arrays& x, size_t i) {
        double product = 1;
        for (const Array& a : x) product *= a[i];
        return product;
      }),
      .channels_last = true,
  };
}

TEST(Eltwise, Multiplies) { check_layer(product(2)); }
TEST(Eltwise, MultipliesFour) { check_layer(product(4)); }

TEST(Eltwise, ProductHasAGradientAtZero) {
  LayerRun run("type: 'Eltwise' eltwise_param { operation: PROD stable_prod_grad: false }",
               {Array({1}, 0.0), Array({1}, 5.0)});
  run.forward();
  run.backward({Array({1}, 2.0)});
  EXPECT_EQ(run.dx(0)[0], 10);
  EXPECT_EQ(run.dx(1)[0], 0);
}

LayerCase maximum(size_t n) {
  LayerCase layer_case{
      .layer = "type: 'Eltwise' eltwise_param { operation: MAX coeff: 7 }",
      .x = {},
      .reference = joined([](const Arrays& x, size_t i) {
        double most = x[0][i];
        for (const Array& a : x) most = std::max(most, a[i]);
        return most;
      }),
      .channels_last = true,
  };
  const Array all = distinct({int64_t(n), kShape.count()}, 3, 0.01);
  for (size_t k = 0; k < n; ++k) {
    const auto first = all.values.begin() + int64_t(k) * kShape.count();
    layer_case.x.push_back({kShape, {first, first + kShape.count()}});
  }
  return layer_case;
}

TEST(Eltwise, TakesTheMaximum) { check_layer(maximum(2)); }
TEST(Eltwise, TakesTheMaximumOfFourAndIgnoresCoefficients) { check_layer(maximum(4)); }

TEST(Eltwise, TiesGoToTheSecondBottom) {
  LayerRun run("type: 'Eltwise' eltwise_param { operation: MAX }", Arrays(3, Array({1}, 1.0)));
  run.forward();
  run.backward({Array({1}, 1.0)});
  EXPECT_EQ(run.dx(0)[0], 0);
  EXPECT_EQ(run.dx(1)[0], 1);
  EXPECT_EQ(run.dx(2)[0], 0);
}

TEST(Eltwise, ReportsBothShapes) {
  expect_field_error("type: 'Eltwise'", {{2, 3}, {2, 3}, {3, 2}}, "bottom[2]",
                     "its shape is 3x2, but bottom[0] has 2x3");
}

TEST(Eltwise, CountsCoefficients) {
  expect_field_error("type: 'Eltwise' eltwise_param { coeff: 1 }", {{2}, {2}}, "eltwise_param.coeff[0]",
                     "1 coefficient for 2 bottoms");
  expect_field_error("type: 'Eltwise' eltwise_param { operation: PROD coeff: 1 coeff: 1 }", {{2}, {2}},
                     "eltwise_param.coeff[0]", "product");
}

}  // namespace
}  // namespace cortado::harness
