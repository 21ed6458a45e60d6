#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// c and h of one step, by the definition.
Arrays step(const Arrays& x) {
  const Array &c = x[0], &sums = x[1], &cont = x[2];
  const size_t units = size_t(c.shape[2]);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  Array next(c.shape), h(c.shape);
  for (size_t i = 0; i < c.size(); ++i) {
    const size_t lane = i / units, u = i % units;
    const auto sum = [&](size_t gate) { return sums[(lane * 4 + gate) * units + u]; };
    next[i] = cont[lane] * sigmoid(sum(1)) * c[i] + sigmoid(sum(0)) * std::tanh(sum(3));
    h[i] = sigmoid(sum(2)) * std::tanh(next[i]);
  }
  return {next, h};
}

TEST(LstmUnit, IsTheDefinition) {
  Array cont({1, 3}, 1);
  cont[1] = 0;
  check_layer({.layer = "type: 'LSTMUnit' top: 'c' top: 'h'",
               .x = {random({1, 3, 5}, 1), random({1, 3, 20}, 2), cont},
               .reference = [](const Arrays& x, const Arrays&) { return step(x); }});
}

TEST(LstmUnit, ReportsErrors) {
  const auto refuses = [](const std::vector<Shape>& x, const std::string& field) {
    expect_field_error("type: 'LSTMUnit' top: 'c' top: 'h'", x, field, "its shape is");
  };
  refuses({{2, 3, 5}, {2, 3, 20}, {2, 3}}, "bottom[0]");
  refuses({{1, 3, 5}, {1, 3, 15}, {1, 3}}, "bottom[1]");
  refuses({{1, 3, 5}, {1, 3, 20}, {3, 1}}, "bottom[2]");
}

}  // namespace
}  // namespace cortado::harness
