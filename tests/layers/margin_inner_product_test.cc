#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "tests/harness/invalid_labels.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const char* const kTypes[] = {"SINGLE", "DOUBLE", "TRIPLE", "QUADRUPLE"};

std::string layer(const std::string& options, const std::string& tops = "") {
  return "type: 'MarginInnerProduct' " + tops +
         " margin_inner_product_param { num_output: 5 weight_filler { type: 'gaussian' } " + options + " }";
}

/// Samples whose angles to the rows of w are spread.
Arrays example() { return {random({8, 6}, 3), random_labels({8}, 2, 5)}; }

/// From the angle itself.
Array scores(const Arrays& x, const Array& w, int m, double lambda) {
  Array y({8, 5});
  for (size_t n = 0; n < 8; ++n)
    for (size_t c = 0; c < 5; ++c) {
      double product = 0, squares_x = 0, squares_w = 0;
      for (size_t k = 0; k < 6; ++k) {
        product += x[0][6 * n + k] * w[6 * c + k];
        squares_x += std::pow(x[0][6 * n + k], 2), squares_w += std::pow(w[6 * c + k], 2);
      }
      double& score = y[5 * n + c];
      score = product / std::sqrt(squares_w);
      if (x[1][n] != double(c)) continue;
      const double angle = std::acos(score / std::sqrt(squares_x));
      const double k = std::floor(angle * m / std::numbers::pi);
      const double wide = std::pow(-1, k) * std::cos(m * angle) - 2 * k;
      score = (lambda * score + std::sqrt(squares_x) * wide) / (1 + lambda);
    }
  return y;
}

TEST(MarginInnerProduct, WidensTheAngleOfLabels) {
  for (int m = 1; m <= 4; ++m)
    check_layer({.layer = layer(std::string("base: 0 type: ") + kTypes[m - 1]),
                 .x = example(),
                 .reference = [m](const Arrays& x, const Arrays& w) -> Arrays { return {scores(x, w[0], m, 0)}; },
                 .tolerance = 1e-3,
                 .same_bits_for_any_threads = false});
}

TEST(MarginInnerProduct, AveragesWithScoresWithoutMargin) {
  check_layer({.layer = layer("type: QUADRUPLE base: 16 gamma: 1 power: 2 iteration: 1"),
               .x = example(),
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays { return {scores(x, w[0], 4, 16 / 9.)}; },
               .tolerance = 1e-3,
               .same_bits_for_any_threads = false});
}

TEST(MarginInnerProduct, ShowsTheWeightOfThePass) {
  const auto weight = [](uint64_t pass) {
    LayerRun run(layer("base: 1000 gamma: 0.12 power: 1 lambda_min: 5 iteration: 0", "top: 'y' top: 'lambda'"),
                 example(), {.pass = pass});
    run.forward();
    return run.y()[1][0];
  };
  EXPECT_NEAR(weight(0), 1000 / 1.12, 1e-2);
  EXPECT_NEAR(weight(99), 1000 / 13., 1e-3);
  EXPECT_NEAR(weight(100000), 5, 1e-6);
}

TEST(MarginInnerProduct, RejectsInvalidLabels) {
  expect_rejects_labels(layer(""), example(), 1, {5, -1, 0.5, NAN}, [](LayerRun& there) {
    EXPECT_TRUE(std::isnan(there.y()[0][10]));
    EXPECT_FALSE(std::isnan(there.y()[0][9]));
  });
}

TEST(MarginInnerProduct, ReportsErrors) {
  const std::vector<Shape> x = {{8, 6}, {8}};
  const std::string field = "margin_inner_product_param.";
  expect_field_error("type: 'MarginInnerProduct'", x, field + "num_output", "it is 0");
  expect_field_error(layer("gamma: -1"), x, field + "gamma", "-1, but must not be below 0");
  expect_field_error(layer("lambda_min: nan"), x, field + "lambda_min", "nan");
  expect_field_error(layer("iteration: -1"), x, field + "iteration", "-1");
  expect_field_error(layer("axis: 2"), x, field + "axis", "2");
  expect_field_error(layer(""), {{8, 6}, {7}}, "bottom[1]", "7");
}

}  // namespace
}  // namespace cortado::harness
