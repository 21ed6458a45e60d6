#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase softmax_case(const Shape& shape, int axis, int written_axis) {
  return {
      .layer = "type: 'Softmax' softmax_param { axis: " + std::to_string(written_axis) + " }",
      .x = {random(shape, 1, -5, 5)},
      .reference = [axis](const Arrays& x, const Arrays&) -> Arrays { return {softmax(x[0], axis)}; },
  };
}

TEST(Softmax, ReturnsProbabilitiesAlongAnAxis) {
  check_layer(softmax_case({5, 10}, 1, 1));
  check_layer(softmax_case({3, 37}, 1, -1));
  check_layer(softmax_case({2, 20, 3, 7}, 1, 1));
  check_layer(softmax_case({2, 5, 3, 19}, 2, 2));
  check_layer(softmax_case({6, 5}, 0, 0));
}

TEST(Softmax, DoesNotOverflow) {
  for (const Shape& shape : {Shape{1, 3}, Shape{1, 3, 1, 2}}) {
    Array x(shape);
    for (size_t i = 0; i < x.size(); ++i) x[i] = i < x.size() / 3 ? 1000 : -1000;
    LayerRun run("type: 'Softmax'", {x});
    run.forward();
    EXPECT_EQ(run.y()[0][0], 1);
    EXPECT_EQ(run.y()[0][x.size() - 1], 0);
  }
}

TEST(Softmax, ReportsAnInvalidAxis) {
  expect_field_error("type: 'Softmax' softmax_param { axis: 2 }", {{3, 5}}, "softmax_param.axis",
                     "axis 2 does not exist");
}

}  // namespace
}  // namespace cortado::harness
