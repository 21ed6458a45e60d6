#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kLayer = "type: 'DiceCoefLoss' ";

Arrays dice(const Arrays& x, const Arrays&) {
  const size_t images = size_t(x[0].shape[0]), width = x[0].size() / images;
  double sum = 0;
  for (size_t n = 0; n < images; ++n) {
    double product = 0, squares = 0;
    for (size_t i = n * width; i < (n + 1) * width; ++i) {
      product += x[0][i] * x[1][i];
      squares += x[0][i] * x[0][i] + x[1][i] * x[1][i];
    }
    sum += squares == 0 ? 1 : 2 * product / squares;
  }
  return {Array(Shape(), 1 - sum / double(images))};
}

TEST(DiceCoefLoss, IsTheMeanOverTheImages) {
  check_layer(
      {.layer = kLayer, .x = {random({3, 1, 4, 5}, 1, 0, 1), random_labels({3, 1, 4, 5}, 2, 2)}, .reference = dice});
}

TEST(DiceCoefLoss, IsZeroForEqualInputs) {
  const Array x({2, 1, 1, 3}, {0, 1, 1, 0, 0, 0});
  LayerRun run(kLayer, {x, x});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 0);
}

TEST(DiceCoefLoss, ReportsErrors) {
  expect_field_error(kLayer, {{2, 1, 3, 3}, {2, 1, 3, 2}}, "bottom[1]", "12 targets (2x1x3x2) for 18 predictions");
  expect_field_error(kLayer + "loss_param { ignore_label: 1 }", {{2, 3}, {2, 3}}, "loss_param",
                     "does not have options");
}

}  // namespace
}  // namespace cortado::harness
