#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// x1 differs from x0 everywhere, so that no difference quotient crosses the kink.
LayerCase l1(const Shape& a, const Shape& b) {
  Array x0 = random(a, 1), x1(b, keep_away(random(a, 2), 0).values);
  for (size_t i = 0; i < x1.size(); ++i) x1[i] = float(x0[i] + x1[i]);
  return {
      .layer = "type: 'L1Loss'",
      .x = {x0, x1},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        double sum = 0;
        for (size_t i = 0; i < x[0].size(); ++i) sum += std::fabs(x[0][i] - x[1][i]);
        return {Array(Shape(), sum / double(x[0].shape[0]))};
      },
  };
}

TEST(L1Loss, IsTheMeanSumOfDifferences) { check_layer(l1({4, 3, 2, 2}, {4, 3, 2, 2})); }
TEST(L1Loss, ComparesSamplesOfTheSameSize) { check_layer(l1({4, 1}, {4})); }

TEST(L1Loss, EqualValuesHaveZeroGradient) {
  LayerRun run("type: 'L1Loss'", {Array({2, 2}, {1, 2, 3, 4}), Array({2, 2}, {1, 1, 5, 4})});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 1.5);
  run.backward({Array(Shape(), 2.0)});
  EXPECT_EQ(run.dx(0).values, (std::vector<double>{0, 1, -1, 0}));
  EXPECT_EQ(run.dx(1).values, (std::vector<double>{0, -1, 1, 0}));
}

TEST(L1Loss, ReportsBothShapes) {
  expect_field_error("type: 'L1Loss'", {{4, 3}, {4, 2}}, "bottom[1]", "4x2, but bottom[0] has 4x3");
  expect_field_error("type: 'L1Loss'", {{}, {}}, "bottom[0]", "0 axes");
}

}  // namespace
}  // namespace cortado::harness
