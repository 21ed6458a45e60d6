#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kLayer = "type: 'SegAccuracy' ";

Array accuracy(const std::string& options, const Array& scores, const Array& labels) {
  const std::string layer = kLayer + "seg_accuracy_param { " + options + " }";
  LayerRun run(layer, {scores, labels}, {.backward = false});
  run.forward();
  for (const Device& device : tested_devices())
    for (const DType dtype : {DType::kF32, DType::kF16}) {
      LayerRun other(layer, {scores, labels}, {.dtype = dtype, .device = device, .backward = false});
      other.forward();
      EXPECT_TRUE(same_bits(other.y()[0], run.y()[0])) << device.str();
    }
  return run.y()[0];
}

/// Two images of 1 x 3 pixels, three classes; predicted are 0 1 2 and 0 0 1.
const Array kScores({2, 3, 1, 3}, {5, 1, 0, 1, 5, 1, 0, 1, 5,  //
                                   4, 2, 0, 1, 1, 3, 0, 0, 2});

TEST(SegAccuracy, ReturnsThreeMetrics) {
  // class 0: 2 of 3 correct, 3 predicted; class 1: 2 of 2, 2 predicted; class 2: 0 of 1, 1 predicted
  const Array y = accuracy("", kScores, Array({2, 1, 1, 3}, {0, 1, 0, 0, 2, 1}));
  EXPECT_EQ(y.shape, Shape{3});
  EXPECT_NEAR(y[0], 4.0 / 6, 1e-6);
  EXPECT_NEAR(y[1], (2.0 / 3 + 1 + 0) / 3, 1e-6);
  EXPECT_NEAR(y[2], (2.0 / 4 + 1 + 0) / 3, 1e-6);
}

TEST(SegAccuracy, SkipsIgnoredPixels) {
  const Array y = accuracy("ignore_label: 255 ignore_label: 2", kScores, Array({2, 1, 1, 3}, {0, 255, 2, 0, 1, 1}));
  // class 0: 2 of 2, 3 predicted; class 1: 1 of 2, 1 predicted; class 2 does not occur
  EXPECT_NEAR(y[0], 3.0 / 4, 1e-6);
  EXPECT_NEAR(y[1], (1 + 0.5) / 2, 1e-6);
  EXPECT_NEAR(y[2], (2.0 / 3 + 0.5 + 1) / 3, 1e-6);
}

TEST(SegAccuracy, IsZeroWithoutPixels) {
  const Array y = accuracy("ignore_label: 1", kScores, Array({2, 1, 1, 3}, 1.0));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(y[i], 0);
}

TEST(SegAccuracy, PrefersTheHigherOfEqualClasses) {
  EXPECT_EQ(accuracy("", Array({1, 3}, 1.0), Array({1}, 2.0))[0], 1);
  EXPECT_EQ(accuracy("", Array({1, 3}, {NAN, NAN, NAN}), Array({1}, 2.0))[0], 0);
}

TEST(SegAccuracy, RejectsInvalidLabels) {
  for (const double label : {3.0, -1.0, 0.5, 1e30, double(NAN)}) {
    LayerRun run(kLayer, {kScores, Array({2, 1, 1, 3}, {0, 1, 2, 0, label, 0})}, {.backward = false});
    EXPECT_THROW(run.validate(), Error) << label;
  }
  for (const Device& device : tested_devices()) {
    LayerRun run(kLayer, {kScores, Array({2, 1, 1, 3}, {0, 1, 3, 0, 1, 0})}, {.device = device, .backward = false});
    run.forward();
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(run.y()[0][i])) << device.str();
  }
}

TEST(SegAccuracy, RejectsMismatchedShapes) {
  expect_field_error(kLayer, {{2, 3, 4, 4}, {2, 1, 4, 3}}, "bottom[1]", "24 labels (2x1x4x3) for 32 predictions");
  expect_field_error(kLayer, {{2, 0, 4, 4}, {2, 1, 4, 4}}, "bottom[0]", "no channels");
}

}  // namespace
}  // namespace cortado::harness
