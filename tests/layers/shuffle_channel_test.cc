#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase shuffled(int64_t group, const Shape& shape) {
  return {
      .layer = "type: 'ShuffleChannel' shuffle_channel_param { group: " + std::to_string(group) + " }",
      .x = {random(shape, 1)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        Array y(shape);
        const int64_t channels = shape[1], inner = shape.count(2), width = channels / group;
        for (int64_t n = 0; n < shape[0]; ++n)
          for (int64_t i = 0; i < group; ++i)
            for (int64_t j = 0; j < width; ++j)
              for (int64_t s = 0; s < inner; ++s)
                y[size_t((n * channels + j * group + i) * inner + s)] =
                    x[0][size_t((n * channels + i * width + j) * inner + s)];
        return {y};
      },
      .channels_last = true,
  };
}

TEST(ShuffleChannel, ReadsGroupsColumnByColumn) {
  LayerRun run("type: 'ShuffleChannel' shuffle_channel_param { group: 2 }", {Array({1, 6}, {1, 2, 3, 4, 5, 6})});
  run.forward();
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST(ShuffleChannel, SupportsEveryLayout) {
  check_layer(shuffled(2, {2, 20, 3, 2}));
  check_layer(shuffled(4, {2, 20, 3, 2}));
  check_layer(shuffled(3, {2, 48, 2, 3}));
}

TEST(ShuffleChannel, OneGroupAndGroupsOfOneAreTheIdentity) {
  check_layer(shuffled(1, {2, 20, 2, 2}));
  check_layer(shuffled(20, {2, 20, 2, 2}));
  LayerRun run("type: 'ShuffleChannel'", {random({2, 20, 2, 2}, 1)});
  EXPECT_TRUE(run.needs().aliasing.view);
}

TEST(ShuffleChannel, SupportsTwoAxesAndMore) {
  check_layer(shuffled(2, {3, 6}));
  check_layer(shuffled(3, {2, 6, 4}));
  check_layer(shuffled(3, {2, 6, 2, 2, 2}));
  check_layer(shuffled(2, {0, 6, 2, 2}));
}

TEST(ShuffleChannel, RejectsGroupsThatDoNotDivideTheChannels) {
  const auto layer = [](const std::string& group) {
    return "type: 'ShuffleChannel' shuffle_channel_param { group: " + group + " }";
  };
  expect_field_error(layer("4"), {{2, 6, 3, 3}}, "shuffle_channel_param.group", "does not divide the 6 channels");
  expect_field_error(layer("0"), {{2, 6, 3, 3}}, "shuffle_channel_param.group", "group is 0");
  expect_field_error(layer("2"), {{6}}, "bottom[0]", "needs at least 2");
}

}  // namespace
}  // namespace cortado::harness
