#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

double squared_distance(const Array& a, int64_t i, const Array& b, int64_t j) {
  const int64_t width = a.shape.count(1);
  double sum = 0;
  for (int64_t k = 0; k < width; ++k) sum += std::pow(a[size_t(i * width + k)] - b[size_t(j * width + k)], 2);
  return sum;
}

/// The mean over pairs (i, j) of rows of a and b, without equal rows of one array, of f of their squared distance.
double mean_of_pairs(const Array& a, const Array& b, bool same, const std::function<double(double)>& f) {
  double sum = 0, count = 0;
  for (int64_t i = 0; i < a.shape[0]; ++i)
    for (int64_t j = 0; j < b.shape[0]; ++j) {
      if (same && i == j) continue;
      sum += f(squared_distance(a, i, b, j));
      count += 1;
    }
  return sum / count;
}

/// The inverse of the mean squared distance of two rows of both arrays together.
double inverse_bandwidth(const Array& a, const Array& b) {
  const auto value = [](double d) { return d; };
  const double n = double(a.shape[0]), m = double(b.shape[0]);
  const double sum = n * (n - 1) * mean_of_pairs(a, a, true, value) + m * (m - 1) * mean_of_pairs(b, b, true, value) +
                     2 * n * m * mean_of_pairs(a, b, false, value);
  return (n + m) * (n + m - 1) / sum;
}

double discrepancy(const Arrays& x, double gamma, int kernels, double ratio) {
  const auto kernel = [=](double d) {
    double sum = 0;
    for (int i = 0; i < kernels; ++i) sum += std::exp(-gamma * std::pow(ratio, i - kernels / 2) * d);
    return sum;
  };
  return mean_of_pairs(x[0], x[0], true, kernel) + mean_of_pairs(x[1], x[1], true, kernel) -
         2 * mean_of_pairs(x[0], x[1], false, kernel);
}

/// The bandwidth is that of the case's inputs, because it has no gradient.
LayerCase case_of(const std::string& options, const Array& a, const Array& b, int kernels, double ratio) {
  const double gamma = inverse_bandwidth(a, b);
  return {
      .layer = "type: 'MMDLoss' mmd_param { " + options + " }",
      .x = {a, b},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {Array(Shape(), discrepancy(x, gamma, kernels, ratio))};
      },
  };
}

const Array kSource = random({5, 6}, 1), kTarget = random({4, 2, 3}, 2, 0, 1.5);

TEST(MMDLoss, IsTheDifferenceOfMeansOfKernels) {
  check_layer(case_of("", kSource, kTarget, 5, 2));
  check_layer(case_of("kernel_num: 1", kSource, kTarget, 1, 2));
  check_layer(case_of("kernel_num: 4 kernel_mul: 1.5", kTarget, kSource, 4, 1.5));
}

TEST(MMDLoss, KeepsTheFirstBandwidthIfFixed) {
  LayerCase fixed = case_of("fix_gamma: true", kSource, kTarget, 5, 2);
  fixed.w = {Array({1}, 0.25)};
  fixed.reference = [](const Arrays& x, const Arrays&) -> Arrays {
    return {Array(Shape(), discrepancy(x, 0.25, 5, 2))};
  };
  check_layer(fixed);
  for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
    LayerRun run("type: 'MMDLoss' mmd_param { fix_gamma: true }", {kSource, kTarget},
                 {.phase = phase, .backward = false}, {Array({1}, 0.0)});
    run.forward();
    const double gamma = inverse_bandwidth(kSource, kTarget);
    EXPECT_NEAR(run.stored_w(0)[0], phase == caffe::TRAIN ? gamma : 0, 1e-5);
    EXPECT_NEAR(run.y()[0][0], discrepancy({kSource, kTarget}, gamma, 5, 2), 1e-5);
  }
}

TEST(MMDLoss, IsZeroForEqualRows) {
  LayerRun run("type: 'MMDLoss'", {Array({3, 2}, 1.0), Array({2, 2}, 1.0)});
  run.forward();
  EXPECT_NEAR(run.y()[0][0], 0, 1e-5);
}

TEST(MMDLoss, RejectsInvalidOptionsAndShapes) {
  const auto expect = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'MMDLoss' mmd_param { " + options + " }", {{3, 2}, {3, 2}}, "mmd_param." + field, words);
  };
  expect("kernel_num: 0", "kernel_num", "between 1 and 64");
  expect("kernel_num: 4000000000", "kernel_num", "between 1 and 64");
  expect("kernel_mul: 0", "kernel_mul", "must be above 0");
  expect("kernel_mul: nan", "kernel_mul", "must be above 0");
  expect_field_error("type: 'MMDLoss'", {{1, 2}, {3, 2}}, "bottom[0]", "at least 2 rows");
  expect_field_error("type: 'MMDLoss'", {{3, 2}, {1, 2}}, "bottom[1]", "at least 2 rows");
  expect_field_error("type: 'MMDLoss'", {{3, 2}, {3, 4}}, "bottom[1]", "rows differ in length");
}

}  // namespace
}  // namespace cortado::harness
