#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

void check(const std::string& options, const Shape& shape, int axis) {
  SCOPED_TRACE(options + " of " + shape.str());
  check_layer({
      .layer = "type: 'Reverse' reverse_param { " + options + " }",
      .x = {random(shape, 1)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        Array y(shape);
        const size_t extent = size_t(shape[axis]), width = size_t(shape.count(axis + 1));
        for (size_t i = 0; i < y.size(); ++i) {
          const size_t step = i / width % extent;
          y[i] = x[0][i - step * width + (extent - 1 - step) * width];
        }
        return {y};
      },
  });
}

TEST(Reverse, ReversesAnAxis) {
  check("", {5, 2, 3}, 0);
  check("axis: 0", {4, 20}, 0);
  check("axis: 1", {2, 20, 3, 4}, 1);
  check("axis: 2", {2, 20, 3, 4}, 2);
  check("axis: 3", {2, 20, 3, 4}, 3);
  check("axis: -2", {2, 3, 4, 5, 2}, 3);
  check("axis: 0", {1, 7}, 0);
  check("axis: 0", {7}, 0);
}

TEST(Reverse, AnExample) {
  LayerRun run("type: 'Reverse'", {Array({3, 2}, {1, 2, 3, 4, 5, 6})});
  run.forward();
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{5, 6, 3, 4, 1, 2}));
}

TEST(Reverse, AcceptsEmptyInputs) {
  LayerRun run("type: 'Reverse'", {Array({0, 3})});
  run.forward();
  EXPECT_EQ(run.y()[0].size(), 0u);
}

TEST(Reverse, ReportsErrors) {
  expect_field_error("type: 'Reverse' reverse_param { axis: 2 }", {{2, 3}}, "reverse_param.axis",
                     "axis 2 does not exist");
  expect_field_error("type: 'Reverse' reverse_param { axis: -3 }", {{2, 3}}, "reverse_param.axis",
                     "axis -3 does not exist");
}

}  // namespace
}  // namespace cortado::harness
