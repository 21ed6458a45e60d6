#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

struct Rule {
  double threshold = 15, lambda = 1, alike = 1, factor = 1;
  bool by_share = false;
  std::string str() const {
    return "pairwise_param { l_threshold: " + std::to_string(threshold) + " l_lambda: " + std::to_string(lambda) +
           " class_num: " + std::to_string(alike) + " sigmoid_param: " + std::to_string(factor) +
           (by_share ? " continous_similarity: true }" : " }");
  }
};

/// The fraction of classes that row i of a and row j of b have in common.
double share(const Array& a, size_t i, const Array& b, size_t j) {
  const size_t classes = size_t(a.shape.count(1));
  if (classes == 1) return a[i] == b[j];
  double both = 0, either = 0;
  for (size_t c = 0; c < classes; ++c) {
    const bool in_a = a[i * classes + c] > 0, in_b = b[j * classes + c] > 0;
    both += in_a && in_b;
    either += in_a || in_b;
  }
  return both > 0 ? both / either : 0;
}

double pairwise(const Arrays& x, const Rule& rule) {
  const size_t rows = size_t(x[0].shape[0]), columns = size_t(x[2].shape[0]), width = size_t(x[0].shape.count(1));
  double loss = 0, weights = 0;
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) {
      double d = 0;
      for (size_t k = 0; k < width; ++k) d += rule.factor * x[0][i * width + k] * x[2][j * width + k];
      const double common = share(x[1], i, x[3], j), s = common > 0;
      const double weight = s > 0 ? rule.alike * (rule.by_share ? common : 1) : 1;
      loss += weight * (d > rule.threshold ? (1 - s) * d : std::log(1 + std::exp(d)) - s * d);
      weights += weight;
    }
  return rule.lambda * loss / weights;
}

LayerCase pairs(const Rule& rule, const Array& labels_a, const Array& labels_b, double range = 1) {
  return {
      .layer = "type: 'PairwiseLoss' " + rule.str(),
      .x = {random({labels_a.shape[0], 5}, 1, -range, range), labels_a,
            random({labels_b.shape[0], 5}, 2, -range, range), labels_b},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {Array(Shape(), pairwise(x, rule))}; },
  };
}

/// Each sample has some of 4 classes.
const Array kA({3, 4}, {1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1});
const Array kB({4, 4}, {1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1});

TEST(PairwiseLoss, IsTheLikelihoodOfPairs) {
  check_layer(pairs({}, kA, kB));
  check_layer(pairs({.lambda = 0.5, .alike = 3, .factor = 0.2}, kA, kB));
  check_layer(pairs({.alike = 2, .by_share = true}, kA, kB));
}

TEST(PairwiseLoss, IsLinearBeyondTheThreshold) { check_layer(pairs({.threshold = 1, .factor = 2}, kA, kB, 2)); }

TEST(PairwiseLoss, AcceptsClassesAsLabels) {
  check_layer(pairs({.alike = 4}, Array({3}, {2, 0, 1}), Array({2}, {1, 2})));
}

TEST(PairwiseLoss, StaysFiniteFarFromZero) {
  LayerRun run("type: 'PairwiseLoss'",
               {Array({1, 1}, 300.0), Array({1}, 1.0), Array({2, 1}, {-300, 300}), Array({2}, {1, 0})});
  run.forward();
  EXPECT_NEAR(run.y()[0][0], 90000, 1);  // a similar pair at -90000 and another at 90000
}

TEST(PairwiseLoss, RejectsMismatchedShapes) {
  const auto expect = [](const std::vector<Shape>& x, const std::string& bottom, const std::string& words) {
    expect_field_error("type: 'PairwiseLoss'", x, bottom, words);
  };
  expect({{3, 5}, {3, 2}, {4, 6}, {4, 2}}, "bottom[2]", "codes differ in length");
  expect({{3, 5}, {2, 2}, {4, 5}, {4, 2}}, "bottom[1]", "3 codes");
  expect({{3, 5}, {3, 2}, {4, 5}, {4, 3}}, "bottom[3]", "labels of 2 numbers");
  expect({{3, 5}, {3, 0}, {4, 5}, {4, 0}}, "bottom[1]", "labels are empty");
}

TEST(PairwiseLoss, RejectsNan) {
  const auto expect = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'PairwiseLoss' pairwise_param { " + options + " }", {{3, 5}, {3}, {4, 5}, {4}},
                       "pairwise_param." + field, words);
  };
  expect("l_threshold: nan", "l_threshold", "must be a number");
  expect("l_lambda: inf", "l_lambda", "must be a number");
  expect("sigmoid_param: nan", "sigmoid_param", "must be a number");
  expect("class_num: 0", "class_num", "must be above 0");
}

}  // namespace
}  // namespace cortado::harness
