#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

TEST(Mish, IsXTimesTanhOfSoftplus) {
  check_layer({
      .layer = "type: 'Mish'",
      .x = {random({2, 20, 3, 3}, 1, -5, 5)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [](double v) { return v * std::tanh(std::log1p(std::exp(v))); })};
      },
      .channels_last = true,
  });
}

TEST(Mish, StaysFiniteForLargeInputs) {
  LayerRun run("type: 'Mish'", {Array({2}, {1000, -1000})});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 1000);
  EXPECT_EQ(run.y()[0][1], 0);
  run.backward({Array({2}, 1.0)});
  EXPECT_EQ(run.dx(0)[0], 1);
  EXPECT_EQ(run.dx(0)[1], 0);
}

}  // namespace
}  // namespace cortado::harness
