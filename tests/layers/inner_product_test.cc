#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// y of `outputs` columns from an x of `rows` rows.
Array product(const Array& x, const Array& w, const Array* bias, const Shape& shape, bool transpose,
              bool relu = false) {
  Array y(shape);
  const int64_t outputs = shape[shape.axes() - 1], rows = outputs ? shape.count() / outputs : 0,
                inputs = rows ? x.shape.count() / rows : 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t o = 0; o < outputs; ++o) {
      double sum = bias ? (*bias)[size_t(o)] : 0;
      for (int64_t k = 0; k < inputs; ++k)
        sum += x[size_t(i * inputs + k)] * w[size_t(transpose ? k * outputs + o : o * inputs + k)];
      y[size_t(i * outputs + o)] = relu ? std::max(sum, 0.0) : sum;
    }
  return y;
}

std::string layer(const std::string& options) { return "type: 'InnerProduct' inner_product_param { " + options + " }"; }

LayerCase with_bias(const std::string& options, const Shape& x, const Shape& y, bool transpose = false) {
  return {.layer = layer(options),
          .x = {random(x, 1)},
          .reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
            return {product(x[0], w[0], &w[1], y, transpose)};
          },
          .same_bits_for_any_threads = false};
}

TEST(InnerProduct, IsAMatrixProduct) {
  check_layer(with_bias("num_output: 10", {5, 7}, {5, 10}));
  check_layer(with_bias("num_output: 10 transpose: true", {5, 7}, {5, 10}, true));
  check_layer(with_bias("num_output: 3", {4, 20, 2, 3}, {4, 3}));
}

TEST(InnerProduct, FlattensFromAnAxis) {
  check_layer(with_bias("num_output: 3 axis: 2", {2, 4, 2, 3}, {2, 4, 3}));
  check_layer(with_bias("num_output: 3 axis: -1", {2, 4, 5}, {2, 4, 3}));
  check_layer(with_bias("num_output: 3 axis: 0", {2, 4}, {3}));
}

TEST(InnerProduct, WithoutBias) {
  check_layer({.layer = layer("num_output: 4 bias_term: false"),
               .x = {random({3, 5}, 1)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 return {product(x[0], w[0], nullptr, {3, 4}, false)};
               },
               .same_bits_for_any_threads = false});
}

TEST(InnerProduct, DividesRowsOfWeightsByTheirNorms) {
  check_layer({.layer = layer("num_output: 4 bias_term: false normalize: true weight_filler { type: 'gaussian' }"),
               .x = {random({3, 5, 2}, 1)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 Array rows = w[0];
                 for (size_t r = 0; r < 4; ++r) {
                   double squares = 0;
                   for (size_t k = 0; k < 10; ++k) squares += w[0][10 * r + k] * w[0][10 * r + k];
                   for (size_t k = 0; k < 10; ++k) rows[10 * r + k] /= std::sqrt(squares);
                 }
                 return {product(x[0], rows, nullptr, {3, 4}, false)};
               },
               .same_bits_for_any_threads = false});
  const std::string field = "inner_product_param.";
  expect_field_error(layer("normalize: true bias_term: false"), {{3, 5}}, field + "num_output", "it is 0");
  expect_field_error(layer("num_output: 4 normalize: true"), {{3, 5}}, field + "bias_term", "with normalize");
  expect_field_error(layer("num_output: 4 normalize: true bias_term: false transpose: true"), {{3, 5}},
                     field + "transpose", "with normalize");
}

TEST(InnerProduct, FusesARelu) {
  Array bias({4}, {3, -3, 3, -3});  // far from the kink
  check_layer({.layer = layer("num_output: 4"),
               .x = {random({3, 5}, 1)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 return {product(x[0], w[0], &w[1], {3, 4}, false, true)};
               },
               .w = {random({4, 5}, 2, -0.5, 0.5), bias},
               .follower = "type: 'ReLU'",
               .same_bits_for_any_threads = false});
}

TEST(InnerProduct, AcceptsEmptyInputs) { check_layer(with_bias("num_output: 3", {0, 4}, {0, 3})); }

TEST(InnerProduct, CountsFlops) {
  const MadeLayer made(layer("num_output: 4"), "", {{3, 5}});
  EXPECT_EQ(made.layer->flops({{3, 5}}, made.shapes.y), 3 * 4 * (2 * 5 + 1));
}

TEST(InnerProduct, ReportsErrors) {
  expect_field_error(layer(""), {{2, 3}}, "inner_product_param", "num_output is missing");
  expect_field_error(layer("num_output: 0"), {{2, 3}}, "inner_product_param.num_output", "num_output is 0");
  expect_field_error(layer("num_output: 2 axis: 2"), {{2, 3}}, "inner_product_param.axis", "axis 2 does not exist");
}

}  // namespace
}  // namespace cortado::harness
