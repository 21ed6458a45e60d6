#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

TEST(HardSwish, IsXTimesItsHardSigmoid) {
  check_layer({
      .layer = "type: 'HardSwish'",
      .x = {keep_away(keep_away(random({2, 20, 3, 3}, 1, -5, 5), -3), 3)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [](double v) { return v * std::clamp(v + 3, 0.0, 6.0) / 6; })};
      },
      .channels_last = true,
  });
}

TEST(HardSwish, IsExactBeyondItsBounds) {
  LayerRun run("type: 'HardSwish'", {Array({5}, {-1000, -3, 3, 3e38, NAN})});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 0);
  EXPECT_EQ(run.y()[0][2], 3);
  EXPECT_FLOAT_EQ(float(run.y()[0][3]), 3e38f);
  EXPECT_TRUE(std::isnan(run.y()[0][4]));
  run.backward({Array({5}, 2.0)});
  EXPECT_EQ(run.dx(0)[0], 0);
  EXPECT_EQ(run.dx(0)[1], 0);
  EXPECT_EQ(run.dx(0)[2], 2);
}

}  // namespace
}  // namespace cortado::harness
