#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase prelu(const Shape& shape, bool shared) {
  return {
      .layer = std::string("type: 'PReLU' prelu_param { channel_shared: ") + (shared ? "true }" : "false }"),
      .x = {keep_away(random(shape, 1), 0)},
      .reference = [shared](const Arrays& x, const Arrays& w) -> Arrays {
        Array y(x[0].shape);
        const int64_t inner = y.shape.count(2), channels = y.shape[1];
        for (size_t i = 0; i < y.size(); ++i) {
          const double slope = w[0][shared ? 0 : size_t(int64_t(i) / inner % channels)];
          y[i] = x[0][i] > 0 ? x[0][i] : slope * x[0][i];
        }
        return {y};
      },
      .channels_last = true,
  };
}

TEST(PReLU, HasASlopeForEachChannel) { check_layer(prelu({3, 20, 3, 3}, false)); }
TEST(PReLU, RunsInFullBlocks) { check_layer(prelu({2, 32, 3, 3}, false)); }
TEST(PReLU, SharesOneSlope) { check_layer(prelu({2, 32, 3, 3}, true)); }
TEST(PReLU, TakesMatrices) { check_layer(prelu({4, 6}, false)); }
TEST(PReLU, TakesVolumes) { check_layer(prelu({2, 3, 4, 2, 2}, true)); }

TEST(PReLU, StartsAtAQuarter) {
  const MadeLayer made("type: 'PReLU'", "", {{2, 3, 4, 4}});
  EXPECT_EQ(made.shapes.w[0].shape, Shape{3});
  EXPECT_EQ(made.shapes.w[0].filler.type(), "constant");
  EXPECT_EQ(made.shapes.w[0].filler.value(), 0.25f);
}

TEST(PReLU, SharesAScalar) {
  const MadeLayer made("type: 'PReLU' prelu_param { channel_shared: true }", "", {{2, 3, 4, 4}});
  EXPECT_EQ(made.shapes.w[0].shape, Shape());
}

TEST(PReLU, NeedsAChannelAxis) { expect_field_error("type: 'PReLU'", {{7}}, "bottom[0]", "has 1 axis"); }

TEST(PReLU, RejectsAnUnknownFiller) {
  expect_field_error("type: 'PReLU' prelu_param { filler { type: 'gausian' } }", {{2, 3}}, "prelu_param.filler.type",
                     "gausian");
}

}  // namespace
}  // namespace cortado::harness
