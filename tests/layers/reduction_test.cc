#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

using Function = std::function<double(double)>;

Array sums(const Array& x, int axis, const Function& f) {
  const std::vector<int64_t> dims(x.shape.dims().begin(), x.shape.dims().begin() + axis);
  Array y{Shape(dims)};
  const size_t width = y.size() ? x.size() / y.size() : 0;
  for (size_t i = 0; i < x.size(); ++i) y[i / width] += f(x[i]);
  return y;
}

LayerCase reduction(const std::string& options, const Shape& shape, int axis, const Function& f) {
  return {
      .layer = "type: 'Reduction' reduction_param { " + options + " }",
      .x = {keep_away(random(shape, 1), 0)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {sums(x[0], axis, f)}; },
  };
}

TEST(Reduction, SumsToAScalarByDefault) {
  check_layer(reduction("", {3, 4, 2, 5}, 0, [](double v) { return v; }));
}
TEST(Reduction, SumsTheLastAxes) {
  check_layer(reduction("axis: 2 coeff: -0.5", {3, 4, 2, 5}, 2, [](double v) { return -0.5 * v; }));
}
TEST(Reduction, SumsMagnitudes) {
  check_layer(reduction("operation: ASUM axis: 1 coeff: 3", {3, 4, 5}, 1, [](double v) { return 3 * std::fabs(v); }));
}
TEST(Reduction, SumsSquares) {
  check_layer(reduction("operation: SUMSQ axis: -1 coeff: 0.05", {3, 4, 5}, 2, [](double v) { return 0.05 * v * v; }));
  check_layer(reduction("operation: SUMSQ", {3, 4, 5}, 0, [](double v) { return v * v; }));
}
TEST(Reduction, Averages) {
  check_layer(reduction("operation: MEAN axis: 1", {3, 4, 5}, 1, [](double v) { return v / 20; }));
  check_layer(reduction("operation: MEAN coeff: 2", {7}, 0, [](double v) { return 2 * v / 7; }));
}
TEST(Reduction, OfAScalar) {
  check_layer(reduction("", {}, 0, [](double v) { return v; }));
}

TEST(Reduction, OfNothingIsZero) {
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}, Shape{0}}) {
    LayerRun run("type: 'Reduction' reduction_param { operation: MEAN }", {Array(shape)}, {.backward = false});
    run.forward();
    EXPECT_EQ(run.y()[0].values, std::vector<double>{0}) << shape.str();
  }
}

TEST(Reduction, HasNoSlopeAtAKink) {
  LayerRun run("type: 'Reduction' reduction_param { operation: ASUM }", {Array({2}, 0.0)});
  run.forward();
  run.backward({Array(Shape(), 1)});
  EXPECT_EQ(run.dx(0).values, (std::vector<double>{0, 0}));
}

TEST(Reduction, ReportsAnInvalidAxis) {
  expect_field_error("type: 'Reduction' reduction_param { axis: 2 }", {{2, 3}}, "reduction_param.axis", "axis 2");
}

}  // namespace
}  // namespace cortado::harness
