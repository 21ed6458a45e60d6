#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// The top of the layer on the CPU; devices and 16-bit values must yield the same.
Array arg_max(const std::string& options, const Array& x) {
  const std::string layer = "type: 'ArgMax' argmax_param { " + options + " }";
  LayerRun run(layer, {x}, {.backward = false});
  run.forward();
  for (const Device& device : tested_devices()) {
    LayerRun other(layer, {x}, {.device = device, .backward = false});
    other.forward();
    EXPECT_TRUE(same_bits(other.y()[0], run.y()[0])) << device.str();
  }
  return run.y()[0];
}

const Array kScores({2, 4}, {3, 7, 1, 5,  //
                             2, 2, 9, 0});

TEST(ArgMax, IsTheIndexOfTheLargest) {
  const Array y = arg_max("", kScores);
  EXPECT_EQ(y.shape, (Shape{2, 1, 1}));
  EXPECT_EQ(y.values, (std::vector<double>{1, 2}));
}

TEST(ArgMax, ListsTheBestInOrderHigherIndexFirst) {
  EXPECT_EQ(arg_max("top_k: 4", kScores).values, (std::vector<double>{1, 3, 0, 2, 2, 1, 0, 3}));
  EXPECT_EQ(arg_max("top_k: 3", Array({1, 3}, 5.0)).values, (std::vector<double>{2, 1, 0}));
}

TEST(ArgMax, ReturnsValuesAfterTheIndices) {
  const Array y = arg_max("top_k: 2 out_max_val: true", kScores);
  EXPECT_EQ(y.shape, (Shape{2, 2, 2}));
  EXPECT_EQ(y.values, (std::vector<double>{1, 3, 7, 5, 2, 1, 9, 2}));
}

TEST(ArgMax, FlattensAllAxesAfterTheSamples) {
  Array x({2, 2, 2, 3});
  x[7] = 1;
  x[12] = 1;
  const Array y = arg_max("", x);
  EXPECT_EQ(y.shape, (Shape{2, 1, 1, 1}));
  EXPECT_EQ(y.values, (std::vector<double>{7, 0}));
}

TEST(ArgMax, UsesItsAxis) {
  const Array x = distinct({2, 5, 3}, 1);
  for (const bool values : {false, true}) {
    const Array y = arg_max(std::string("axis: 1 top_k: 2 out_max_val: ") + (values ? "true" : "false"), x);
    ASSERT_EQ(y.shape, (Shape{2, 2, 3}));
    for (size_t n = 0; n < 2; ++n)
      for (size_t s = 0; s < 3; ++s) {
        const auto at = [&](size_t c) { return x[(n * 5 + c) * 3 + s]; };
        std::vector<size_t> order(5);
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return at(a) > at(b); });
        for (size_t k = 0; k < 2; ++k)
          EXPECT_EQ(y[(n * 2 + k) * 3 + s], values ? at(order[k]) : double(order[k])) << n << k << s;
      }
  }
  EXPECT_EQ(arg_max("axis: -2", kScores).values, (std::vector<double>{0, 0, 1, 0}));
}

TEST(ArgMax, NanIsTheLeast) {
  EXPECT_EQ(arg_max("", Array({1, 3}, {NAN, -5, NAN})).values, std::vector<double>{1});
  EXPECT_EQ(arg_max("top_k: 3", Array({1, 3}, {NAN, -5, NAN})).values, (std::vector<double>{1, 2, 0}));
}

TEST(ArgMax, ReadsSixteenBitsAndWritesWholeIndices) {
  Array x({1, 5000});
  x[4097] = 1;  // an index that 16-bit floats cannot represent
  LayerRun run("type: 'ArgMax'", {x}, {.dtype = DType::kBF16, .backward = false});
  run.forward();
  EXPECT_EQ(run.y()[0].values, std::vector<double>{4097});
}

TEST(ArgMax, HasNoGradient) { EXPECT_FALSE(MadeLayer("type: 'ArgMax'", "", {{2, 3}}).layer->differentiable(0)); }

TEST(ArgMax, RejectsMismatchedShapes) {
  const std::string layer = "type: 'ArgMax' argmax_param { ";
  expect_field_error(layer + "top_k: 5 }", {{2, 4}}, "argmax_param.top_k", "top_k is 5");
  expect_field_error(layer + "top_k: 0 }", {{2, 4}}, "argmax_param.top_k", "between 1 and the 4 values");
  expect_field_error(layer + "top_k: 3 axis: 0 }", {{2, 4}}, "argmax_param.top_k", "the 2 values");
  expect_field_error(layer + "axis: 2 }", {{2, 4}}, "argmax_param.axis", "axis 2 does not exist");
  expect_field_error("type: 'ArgMax'", {{}}, "bottom[0]", "0 axes");
}

}  // namespace
}  // namespace cortado::harness
