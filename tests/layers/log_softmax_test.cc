#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// log(e^x / sum of e^x) in double, which is precise enough for the values of this test.
Array log_of_softmax(const Array& x, int axis) {
  return map(softmax(x, axis), [](double p) { return std::log(p); });
}

LayerCase log_softmax_case(const Shape& shape, int axis, int written_axis) {
  return {
      .layer = "type: 'LogSoftmax' softmax_param { axis: " + std::to_string(written_axis) + " }",
      .x = {random(shape, 1, -3, 3)},
      .reference = [axis](const Arrays& x, const Arrays&) -> Arrays { return {log_of_softmax(x[0], axis)}; },
  };
}

TEST(LogSoftmax, ReturnsLogProbabilitiesAlongAnAxis) {
  check_layer(log_softmax_case({5, 10}, 1, 1));
  check_layer(log_softmax_case({3, 37}, 1, -1));
  check_layer(log_softmax_case({2, 20, 3, 7}, 1, 1));
  check_layer(log_softmax_case({2, 5, 3, 19}, 2, 2));
  check_layer(log_softmax_case({6, 5}, 0, 0));
}

TEST(LogSoftmax, IsFiniteIfProbabilitiesUnderflow) {
  for (const Shape& shape : {Shape{1, 3}, Shape{1, 3, 1, 2}}) {
    Array x(shape);
    for (size_t i = 0; i < x.size(); ++i) x[i] = i < x.size() / 3 ? 1000 : -110;
    LayerRun run("type: 'LogSoftmax'", {x});
    run.forward();
    EXPECT_EQ(run.y()[0][0], 0);
    EXPECT_EQ(run.y()[0][x.size() - 1], -1110);
  }
}

TEST(LogSoftmax, ReportsAnInvalidAxis) {
  expect_field_error("type: 'LogSoftmax' softmax_param { axis: 2 }", {{3, 5}}, "softmax_param.axis",
                     "axis 2 does not exist");
}

}  // namespace
}  // namespace cortado::harness
