#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase bnll(const Array& x) {
  return {
      .layer = "type: 'BNLL'",
      .x = {x},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [](double v) { return std::log1p(std::exp(v)); })};
      },
      .channels_last = true,
  };
}

TEST(Bnll, IsTheLogarithmOfOnePlusExp) { check_layer(bnll(random({2, 20, 3, 2}, 1, -4, 4))); }
TEST(Bnll, RunsInFullBlocks) { check_layer(bnll(random({1, 16, 2, 2}, 2, -4, 4))); }

TEST(Bnll, StaysFiniteForLargeInputs) {
  LayerRun run("type: 'BNLL'", {Array({2}, {1000, -1000})});
  run.forward();
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{1000, 0}));
  run.backward({Array({2}, 1.0)});
  EXPECT_EQ(run.dx(0).values, (std::vector<double>{1, 0}));
}

}  // namespace
}  // namespace cortado::harness
