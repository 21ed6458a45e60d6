#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kLayer = "type: 'SigmoidCrossEntropyBalanceLoss' ";

Arrays balanced(const Arrays& x, const Arrays&) {
  const size_t images = size_t(x[0].shape[0]), width = x[0].size() / images;
  double loss = 0;
  for (size_t n = 0; n < images; ++n) {
    double ones = 0, zeros = 0, of_ones = 0, of_zeros = 0;
    for (size_t i = n * width; i < (n + 1) * width; ++i) {
      const double p = 1 / (1 + std::exp(-x[0][i]));
      if (x[1][i] == 1) ones += 1, of_ones -= std::log(p);
      if (x[1][i] == 0) zeros += 1, of_zeros -= std::log(1 - p);
    }
    if (ones + zeros > 0) loss += (zeros * of_ones + ones * of_zeros) / (ones + zeros);
  }
  return {Array(Shape(), loss / double(images))};
}

TEST(SigmoidCrossEntropyBalanceLoss, BalancesBothClassesOfEachImage) {
  check_layer({.layer = kLayer,
               .x = {random({3, 1, 4, 5}, 1, -3, 3),
                     map(random_labels({3, 1, 4, 5}, 2, 4), [](double v) { return v > 0 ? 0.0 : 1.0; })},
               .reference = balanced});
}

TEST(SigmoidCrossEntropyBalanceLoss, SkipsTargetsOtherThanZeroAndOne) {
  Array targets({3, 1, 2, 3}, {0, 1, 2, 0.5, 0, 255, 1, 1, 1, 0, 0, 1, 2, 2, 2, 2, 2, 2});
  check_layer({.layer = kLayer, .x = {random({3, 1, 2, 3}, 3), targets}, .reference = balanced});
}

TEST(SigmoidCrossEntropyBalanceLoss, IsZeroForOneClass) {
  LayerRun run(kLayer, {random({2, 1, 2, 3}, 3), Array({2, 1, 2, 3}, 0.0)}, {.backward = false});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 0);
}

TEST(SigmoidCrossEntropyBalanceLoss, StaysFiniteForLargeInputs) {
  LayerRun run(kLayer, {Array({1, 2}, {-1e30, 1000}), Array({1, 2}, {0.0, 1.0})}, {.backward = false});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 0);
}

TEST(SigmoidCrossEntropyBalanceLoss, ReportsErrors) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error(kLayer + options, {{2, 1, 3, 3}, {2, 1, 3, 3}}, field, words);
  };
  refuses("loss_param { ignore_label: 255 }", "loss_param.ignore_label", "not available");
  refuses("loss_param { normalization: VALID }", "loss_param.normalization", "number of images");
  refuses("loss_param { normalize: true }", "loss_param.normalize", "number of images");
  expect_field_error(kLayer, {{2, 1, 3, 3}, {2, 1, 3, 2}}, "bottom[1]", "12 targets (2x1x3x2) for 18 predictions");
}

}  // namespace
}  // namespace cortado::harness
