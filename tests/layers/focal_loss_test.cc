#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/softmax_losses.h"

namespace cortado::harness {
namespace {

struct Rule {
  double gamma = 2, alpha = 1, ignored = -1e9;
  int axis = 1;
  By by = By::kCounted;
  std::vector<double> weights = {};
};

/// The loss and the probabilities, by their definitions.
Arrays loss_of(const Arrays& x, const Rule& rule) {
  const SoftmaxRowsOf rows(x[0], rule.axis);
  double loss = 0, counted = 0;
  for (int64_t r = 0; r < rows.rows(); ++r) {
    const double label = x[1][size_t(r)];
    if (label == rule.ignored) continue;
    counted += 1;
    const double right = rows.p(r, int64_t(label)), weight = rule.weights.empty() ? 1 : rule.weights[size_t(label)];
    loss -= rule.alpha * weight * std::pow(1 - right, rule.gamma) * std::log(right);
  }
  return rows.mean(loss, rule.by, counted);
}

LayerCase focal(const std::string& options, const Shape& shape, const Shape& labels, const Rule& rule,
                bool shows_p = false) {
  return {
      .layer = "type: 'FocalLoss' top: 'loss' " + std::string(shows_p ? "top: 'p' " : "") + options,
      .x = {random(shape, 1, -3, 3), random_labels(labels, 2, shape[rule.axis])},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        const Arrays y = loss_of(x, rule);
        return shows_p ? y : Arrays{y[0]};
      },
  };
}

TEST(FocalLoss, ReducesTheWeightOfWellClassifiedSamples) { check_layer(focal("", {6, 10}, {6}, {})); }
TEST(FocalLoss, GammaAndAlpha) {
  check_layer(focal("focal_loss_param { gamma: 0.5 alpha: 0.25 }", {6, 10}, {6}, {.gamma = 0.5, .alpha = 0.25}));
  check_layer(focal("focal_loss_param { gamma: 1 alpha: 3 }", {6, 10}, {6}, {.gamma = 1, .alpha = 3}));
  check_layer(focal("focal_loss_param { gamma: 0 }", {6, 10}, {6}, {.gamma = 0}));
}
TEST(FocalLoss, SupportsEveryPositionOfAnImage) {
  check_layer(focal("", {2, 5, 3, 4}, {2, 1, 3, 4}, {}));
  check_layer(focal("softmax_param { axis: -1 }", {2, 3, 7}, {2, 3}, {.axis = 2}));
}
TEST(FocalLoss, UsesTheNormalizer) {
  const Shape x = {2, 5, 3, 4}, labels = {2, 3, 4};
  const auto check = [&](const std::string& mode, By by) {
    check_layer(
        focal("loss_param { ignore_label: 2 normalization: " + mode + " }", x, labels, {.ignored = 2, .by = by}));
  };
  check("VALID", By::kCounted);
  check("FULL", By::kAll);
  check("BATCH_SIZE", By::kOuter);
  check("NONE", By::kOne);
}
TEST(FocalLoss, WeightsClasses) {
  check_layer(focal("loss_param { class_weight: [0.5, 2, 0, 1] }", {9, 4}, {9}, {.weights = {0.5, 2, 0, 1}}));
}
TEST(FocalLoss, ReturnsTheProbabilities) { check_layer(focal("", {6, 10}, {6}, {}, true)); }

TEST(FocalLoss, WithoutFocusIsTheSoftmaxLoss) {
  const Arrays x = {random({5, 4}, 1), random_labels({5}, 2, 4)};
  LayerRun focal("type: 'FocalLoss' focal_loss_param { gamma: 0 }", x), plain("type: 'SoftmaxWithLoss'", x);
  focal.forward();
  plain.forward();
  expect_near(focal.y()[0], plain.y()[0], 1e-6, "loss");
}

TEST(FocalLoss, IsFiniteForCertainPredictions) {
  for (const std::string gamma : {"0", "0.5", "1", "2"}) {
    LayerRun run("type: 'FocalLoss' focal_loss_param { gamma: " + gamma + " }",
                 {Array({2, 2}, {200, 0, 200, 0}), Array({2}, {0, 1})});
    run.forward();
    run.backward({Array(Shape(), 1.0)});
    EXPECT_TRUE(std::isfinite(run.y()[0][0])) << gamma;
    for (const double v : run.dx(0).values) EXPECT_TRUE(std::isfinite(v)) << gamma;
    EXPECT_EQ(run.dx(0)[0], 0) << gamma;
  }
}

TEST(FocalLoss, RejectsInvalidLabels) {
  LayerRun run("type: 'FocalLoss'", {random({3, 4}, 1), Array({3}, {0, 4, 1})});
  try {
    run.forward();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("label 4 of item 1"), std::string::npos) << error.what();
  }
}

TEST(FocalLoss, ReportsErrors) {
  const auto expect = [](const std::string& options, const std::string& field, const std::string& words,
                         const Shape& labels = {4}) {
    expect_field_error("type: 'FocalLoss' " + options, {{4, 3}, labels}, field, words);
  };
  expect("focal_loss_param { gamma: -1 }", "focal_loss_param.gamma", "below 0");
  expect("focal_loss_param { alpha: inf }", "focal_loss_param.alpha", "inf");
  expect("loss_param { label_smoothing: 0.1 }", "loss_param.label_smoothing", "not available");
  expect("loss_param { class_weight: [1, 2] }", "loss_param.class_weight[0]", "2 weights for 3 classes");
  expect("softmax_param { axis: 2 }", "softmax_param.axis", "axis 2");
  expect("", "bottom[1]", "5 labels", {5});
}

}  // namespace
}  // namespace cortado::harness
