#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

Arrays step(const Arrays& x) {
  const size_t n = size_t(x[0].shape[1]), d = size_t(x[0].shape[2]);
  Array c(x[0].shape), h(x[0].shape);
  for (size_t row = 0; row < n; ++row)
    for (size_t k = 0; k < d; ++k) {
      const auto part = [&](size_t gate) { return x[1][(row * 4 + gate) * d + k]; };
      const size_t at = row * d + k;
      c[at] = x[2][row] * sigmoid(part(1)) * x[0][at] + sigmoid(part(0)) * std::tanh(part(3));
      h[at] = sigmoid(part(2)) * std::tanh(c[at]);
    }
  return {c, h};
}

TEST(LstmUnit, IsOneStep) {
  check_layer({
      .layer = "type: 'LSTMUnit'",
      .x = {random({1, 3, 5}, 1), random({1, 3, 20}, 2, -2, 2), Array({1, 3}, {1, 0, 1})},
      .reference = [](const Arrays& x, const Arrays&) { return step(x); },
  });
}

TEST(LstmUnit, IsCalmFarOut) {
  const Array parts({1, 1, 4}, {-500, 500, 500, 500});
  LayerRun run("type: 'LSTMUnit'", {Array({1, 1, 1}, 2.0), parts, Array({1, 1}, 1.0)});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 2);
  EXPECT_NEAR(run.y()[1][0], std::tanh(2), 1e-6);
}

TEST(LstmUnit, NamesTheBottomThatDoesNotFit) {
  expect_field_error("type: 'LSTMUnit'", {{2, 3, 5}, {2, 3, 20}, {2, 3}}, "bottom[0]", "2x3x5; one step");
  expect_field_error("type: 'LSTMUnit'", {{1, 3, 5}, {1, 3, 15}, {1, 3}}, "bottom[1]", "1x3x15, but bottom[0]");
  expect_field_error("type: 'LSTMUnit'", {{1, 3, 5}, {1, 3, 20}, {3}}, "bottom[2]", "its shape is 3");
}

}  // namespace
}  // namespace cortado::harness
