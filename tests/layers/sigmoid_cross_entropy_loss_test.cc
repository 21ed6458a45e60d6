#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

enum class By { kAll, kCounted, kItems, kOne };

constexpr double kNone = 1e9;

LayerCase cross_entropy(const std::string& options, const Shape& shape, By by, double ignored = kNone) {
  const Array targets = ignored == kNone ? random(shape, 2, 0, 1) : random_labels(shape, 2, 3);
  return {
      .layer = "type: 'SigmoidCrossEntropyLoss' loss_param { " + options + " }",
      .x = {random(shape, 1, -3, 3), targets},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        double sum = 0, counted = 0;
        for (size_t i = 0; i < x[0].size(); ++i) {
          const double t = x[1][i], s = 1 / (1 + std::exp(-x[0][i]));
          if (t == ignored) continue;
          sum -= t * std::log(s) + (1 - t) * std::log(1 - s);
          counted += 1;
        }
        const double divisor = by == By::kAll       ? double(x[0].size())
                               : by == By::kCounted ? counted
                               : by == By::kItems   ? double(shape[0])
                                                    : 1;
        return {Array(Shape(), sum / std::max(1.0, divisor))};
      },
  };
}

TEST(SigmoidCrossEntropyLoss, IsDividedByTheBatch) { check_layer(cross_entropy("", {4, 3, 2, 2}, By::kItems)); }

TEST(SigmoidCrossEntropyLoss, UsesTheNormalizer) {
  const Shape shape = {4, 6};
  check_layer(cross_entropy("normalization: FULL ignore_label: 2", shape, By::kAll, 2));
  check_layer(cross_entropy("normalization: VALID ignore_label: 2", shape, By::kCounted, 2));
  check_layer(cross_entropy("normalization: BATCH_SIZE ignore_label: 2", shape, By::kItems, 2));
  check_layer(cross_entropy("normalization: NONE ignore_label: 0", shape, By::kOne, 0));
  check_layer(cross_entropy("normalize: true ignore_label: 1", shape, By::kCounted, 1));
  check_layer(cross_entropy("normalize: false", shape, By::kItems));
  check_layer(cross_entropy("ignore_label: 1", shape, By::kItems, 1));
}

TEST(SigmoidCrossEntropyLoss, TruncatesTargetsForIgnoreLabel) {
  LayerRun run("type: 'SigmoidCrossEntropyLoss' loss_param { ignore_label: 0 }",
               {Array({1, 2}), Array({1, 2}, {0.9, 1})});
  run.forward();
  EXPECT_NEAR(run.y()[0][0], std::log(2), 1e-6);
}

TEST(SigmoidCrossEntropyLoss, IsZeroWhenAllIsIgnored) {
  LayerCase layer_case = cross_entropy("normalization: VALID ignore_label: 7", {2, 3}, By::kCounted, 7);
  layer_case.x[1] = Array({2, 3}, 7.0);
  check_layer(layer_case);
}

TEST(SigmoidCrossEntropyLoss, DoesNotOverflow) {
  LayerRun run("type: 'SigmoidCrossEntropyLoss'", {Array({1, 2}, {500, -500}), Array({1, 2}, {0, 1})});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 1000);
  run.backward({Array(Shape(), 1.0)});
  EXPECT_EQ(run.dx(0)[0], 1);
  EXPECT_EQ(run.dx(0)[1], -1);
}

TEST(SigmoidCrossEntropyLoss, ReportsErrors) {
  expect_field_error("type: 'SigmoidCrossEntropyLoss'", {{4, 10}, {4}}, "bottom[1]",
                     "there are 4 targets (4) for 40 predictions (4x10)");
  expect_field_error("type: 'SigmoidCrossEntropyLoss' loss_param { label_smoothing: 0.1 }", {{4, 10}, {4, 10}},
                     "loss_param.label_smoothing", "not available");
  expect_field_error("type: 'SigmoidCrossEntropyLoss' loss_param { class_weight: 2 }", {{4, 10}, {4, 10}},
                     "loss_param.class_weight", "not available");
}

}  // namespace
}  // namespace cortado::harness
