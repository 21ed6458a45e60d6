#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

Array distances(const Array& x, const Array& w, bool squares, const Array* bias) {
  const int64_t rows = x.shape[0], classes = w.shape[0], width = x.shape.count(1);
  Array y({rows, classes});
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t c = 0; c < classes; ++c) {
      double sum = bias ? (*bias)[size_t(c)] : 0;
      for (int64_t k = 0; k < width; ++k) {
        const double d = x[size_t(n * width + k)] - w[size_t(c * width + k)];
        sum += squares ? d * d : std::fabs(d);
      }
      y[size_t(n * classes + c)] = sum;
    }
  return y;
}

TEST(InnerDistance, IsTheSumOfSquaredDifferences) {
  check_layer(
      {.layer = "type: 'InnerDistance' inner_distance_param { num_output: 5 weight_filler { type: 'gaussian' } }",
       .x = {random({3, 4, 2}, 1)},
       .reference = [](const Arrays& x, const Arrays& w) -> Arrays { return {distances(x[0], w[0], true, nullptr)}; }});
}

TEST(InnerDistance, AddsBiases) {
  check_layer(
      {.layer = "type: 'InnerDistance' inner_distance_param { num_output: 5 bias_term: true distance_type: 'L1' "
                "weight_filler { type: 'gaussian' } bias_filler { type: 'gaussian' } }",
       .x = {random({3, 4}, 1)},
       .reference = [](const Arrays& x, const Arrays& w) -> Arrays { return {distances(x[0], w[0], false, &w[1])}; }});
}

TEST(InnerDistance, ReadsTheMatrixFromASecondBottom) {
  for (const bool squares : {true, false})
    check_layer({.layer = std::string("type: 'InnerDistance' inner_distance_param { distance_type: '") +
                          (squares ? "L2" : "L1") + "' }",
                 .x = {random({3, 4}, 1), random({6, 4}, 2)},
                 .reference = [squares](const Arrays& x, const Arrays&) -> Arrays {
                   return {distances(x[0], x[1], squares, nullptr)};
                 }});
}

TEST(InnerDistance, ReportsErrors) {
  const std::string field = "inner_distance_param.";
  const auto expect = [&](const std::string& options, const std::vector<Shape>& x, const std::string& at,
                          const std::string& words) {
    const std::string second = x.size() > 1 ? "bottom: 'x' bottom: 'w' " : "";
    expect_field_error("type: 'InnerDistance' " + second + "inner_distance_param { " + options + " }", x, at, words);
  };
  expect("", {{3, 4}}, field + "num_output", "it is 0");
  expect("num_output: 2 distance_type: 'L3'", {{3, 4}}, field + "distance_type", "'L3', but must be L2 or L1");
  expect("num_output: 2 transpose: true", {{3, 4}}, field + "transpose", "not supported");
  expect("num_output: 2 normalize: true", {{3, 4}}, field + "normalize", "not supported");
  expect("num_output: 2 axis: 3", {{3, 4}}, field + "axis", "3");
  expect("", {{3, 4}, {6, 5}}, "bottom[1]", "6x5, but must be C x 4");
  expect("num_output: 5", {{3, 4}, {6, 4}}, field + "num_output", "it is 5, but bottom[1] has 6 rows");
}

}  // namespace
}  // namespace cortado::harness
