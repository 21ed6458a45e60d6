#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase sigmoid(const Shape& shape) {
  return {
      .layer = "type: 'Sigmoid'",
      .x = {random(shape, 1, -4, 4)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [](double v) { return 1 / (1 + std::exp(-v)); })};
      },
      .channels_last = true,
  };
}

TEST(Sigmoid, IsTheLogisticFunction) { check_layer(sigmoid({2, 20, 3, 3})); }
TEST(Sigmoid, RunsInFullBlocks) { check_layer(sigmoid({2, 32, 3, 3})); }

TEST(Sigmoid, StaysPlainWhereBlocksHavePadding) {
  EXPECT_EQ(MadeLayer("type: 'Sigmoid'", "", {{2, 20, 3, 3}}).layer->storage({}).layout, LayoutRule::kPlain);
  EXPECT_EQ(MadeLayer("type: 'Sigmoid'", "", {{2, 32, 3, 3}}).layer->storage({}).layout, LayoutRule::kFollow);
}

TEST(Sigmoid, DoesNotOverflow) {
  LayerRun run("type: 'Sigmoid'", {Array({2}, {-200, 200})});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 0);
  EXPECT_EQ(run.y()[0][1], 1);
}

}  // namespace
}  // namespace cortado::harness
