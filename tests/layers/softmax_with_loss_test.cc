#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "core/error.h"
#include "tests/harness/softmax_losses.h"

namespace cortado::harness {
namespace {

struct Rule {
  By by = By::kCounted;
  double ignored = -1e9;
  int axis = 1;
  double smoothing = 0;
  std::vector<double> weights = {};  ///< of classes
};

/// The loss and the probabilities, by their definitions.
Arrays loss_of(const Arrays& x, const Rule& rule) {
  const SoftmaxRowsOf rows(x[0], rule.axis);
  const bool soft = x[1].size() == x[0].size();
  double loss = 0, counted = 0;
  for (int64_t r = 0; r < rows.rows(); ++r) {
    if (!soft && x[1][size_t(r)] == rule.ignored) continue;
    counted += soft || rule.weights.empty() ? 1 : rule.weights[size_t(x[1][size_t(r)])];
    for (int64_t c = 0; c < rows.classes(); ++c) {
      const double label = soft ? x[1][rows.at(r, c)] : double(x[1][size_t(r)] == double(c));
      const double t = (1 - rule.smoothing) * label + rule.smoothing / double(rows.classes());
      const double weight = (rule.weights.empty() ? 1 : rule.weights[size_t(c)]) * (x.size() > 2 ? x[2][size_t(r)] : 1);
      loss -= weight * t * std::log(std::max(rows.p(r, c), double(FLT_MIN)));
    }
  }
  const bool weighted = counted > 0 && !rule.weights.empty() && rule.by == By::kCounted;
  return weighted ? Arrays{Array(Shape(), loss / counted), rows.all()} : rows.mean(loss, rule.by, counted);
}

LayerCase loss_case(const std::string& options, const Shape& shape, const Shape& labels, const Rule& rule,
                    bool shows_p = false) {
  return {
      .layer = "type: 'SoftmaxWithLoss' top: 'loss' " + std::string(shows_p ? "top: 'p' " : "") + options,
      .x = {random(shape, 1, -3, 3), random_labels(labels, 2, shape[rule.axis])},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        const Arrays y = loss_of(x, rule);
        return shows_p ? y : Arrays{y[0]};
      },
  };
}

TEST(SoftmaxWithLoss, IsTheNegativeLogLikelihood) { check_layer(loss_case("", {6, 10}, {6}, {})); }

TEST(SoftmaxWithLoss, SupportsEveryPositionOfAnImage) {
  check_layer(loss_case("", {2, 5, 3, 4}, {2, 1, 3, 4}, {}));
  check_layer(loss_case("softmax_param { axis: -1 }", {2, 3, 7}, {2, 3}, {.axis = 2}));
}

TEST(SoftmaxWithLoss, UsesTheNormalizer) {
  const Shape x = {2, 5, 3, 4}, labels = {2, 3, 4};
  const double ignored = 2;
  const std::string ignore = "ignore_label: 2 ";
  check_layer(loss_case("loss_param { " + ignore + "}", x, labels, {By::kCounted, ignored}));
  check_layer(loss_case("loss_param { " + ignore + "normalization: VALID }", x, labels, {By::kCounted, ignored}));
  check_layer(loss_case("loss_param { " + ignore + "normalization: FULL }", x, labels, {By::kAll, ignored}));
  check_layer(loss_case("loss_param { " + ignore + "normalization: BATCH_SIZE }", x, labels, {By::kOuter, ignored}));
  check_layer(loss_case("loss_param { " + ignore + "normalization: NONE }", x, labels, {By::kOne, ignored}));
  check_layer(loss_case("loss_param { normalization: PRE_FIXED pre_fixed_normalizer: 5 }", x, labels, {By::kFive}));
  check_layer(loss_case("loss_param { normalization: PRE_FIXED }", x, labels, {By::kOne}));
  check_layer(loss_case("loss_param { normalize: false }", x, labels, {By::kOuter}));
  check_layer(loss_case("loss_param { normalize: true }", x, labels, {By::kCounted}));
  check_layer(loss_case("loss_param { normalize: false normalization: FULL }", x, labels, {By::kAll}));
}

TEST(SoftmaxWithLoss, ReturnsTheProbabilities) {
  check_layer(loss_case("", {6, 10}, {6}, {}, true));
  check_layer(loss_case("loss_param { ignore_label: 1 }", {2, 5, 3, 4}, {2, 3, 4}, {By::kCounted, 1}, true));
}

TEST(SoftmaxWithLoss, SmoothsLabels) {
  check_layer(loss_case("loss_param { label_smoothing: 0.1 }", {6, 10}, {6}, {.smoothing = 0.1}));
  check_layer(loss_case("loss_param { label_smoothing: 0.3 ignore_label: 2 }", {2, 5, 3, 4}, {2, 3, 4},
                        {.ignored = 2, .smoothing = 0.3}, true));
}

TEST(SoftmaxWithLoss, SupportsSoftLabels) {
  const auto soft = [](const std::string& options, const Shape& shape, const Rule& rule, double sum) {
    LayerCase layer_case = loss_case(options, shape, shape, rule);
    layer_case.x[1] = random(shape, 3, 0, 2 * sum / double(shape[rule.axis]));
    check_layer(layer_case);
  };
  soft("", {6, 10}, {}, 1);
  soft("loss_param { normalization: FULL }", {2, 5, 3, 4}, {By::kAll}, 2);
  soft("loss_param { label_smoothing: 0.2 ignore_label: 0 }", {2, 5, 3, 4}, {.smoothing = 0.2}, 1);
}

TEST(SoftmaxWithLoss, WeightsClasses) {
  const std::vector<double> weights = {0.5, 2, 0, 1.5, 0.25};
  const std::string text = "class_weight: [0.5, 2, 0, 1.5, 0.25] ";
  const Shape x = {2, 5, 3, 4}, labels = {2, 3, 4};
  const auto check = [&](const std::string& options, Rule rule, bool shows_p = false) {
    rule.weights = weights;
    check_layer(loss_case("loss_param { " + text + options + " }", x, labels, rule, shows_p));
  };
  check("", {});
  check("ignore_label: 1", {.ignored = 1}, true);
  check("normalization: FULL", {By::kAll});
  check("normalization: BATCH_SIZE", {By::kOuter});
  check("normalization: NONE", {By::kOne});
  check("label_smoothing: 0.2 ignore_label: 3", {.ignored = 3, .smoothing = 0.2});
}

TEST(SoftmaxWithLoss, DividesByTheNumberOfSamplesWithSegNetsWeights) {
  const std::string weights = "class_weighting: [0.5, 2, 0, 1.5, 0.25] ";
  const auto segnets = [](const Arrays& x, double divisor) {
    const SoftmaxRowsOf rows(x[0], 1);
    const double of_class[] = {0.5, 2, 0, 1.5, 0.25};
    double loss = 0;
    for (int64_t r = 0; r < rows.rows(); ++r) {
      const int64_t label = int64_t(x[1][size_t(r)]);
      loss -= of_class[label] * std::log(rows.p(r, label));
    }
    return loss / divisor;
  };
  for (const auto& [normalize, divisor] : {std::pair("true", 24.0), {"false", 2.0}}) {
    LayerCase layer_case = loss_case("", {2, 5, 3, 4}, {2, 3, 4}, {});
    layer_case.layer = "type: 'SoftmaxWithLoss' loss_param { weight_by_label_freqs: true " + weights +
                       "normalize: " + normalize + " }";
    layer_case.reference = [=, divisor = divisor](const Arrays& x, const Arrays&) -> Arrays {
      return {Array(Shape(), segnets(x, divisor))};
    };
    check_layer(layer_case);
  }
  check_layer(loss_case("loss_param { weight_by_label_freqs: false " + weights + "}", {2, 5, 3, 4}, {2, 3, 4}, {}));
}

TEST(SoftmaxWithLoss, WeightsClassesOfSoftLabels) {
  LayerCase layer_case =
      loss_case("loss_param { class_weight: [0.5, 2, 0.1] }", {4, 3}, {4, 3}, {.weights = {0.5, 2, 0.1}});
  layer_case.x[1] = random({4, 3}, 3, 0, 0.7);
  check_layer(layer_case);
}

TEST(SoftmaxWithLoss, IsTheWeightedMeanWithClassWeights) {
  // Equal scores cost log 2 each, for any weights.
  const std::string layer = "type: 'SoftmaxWithLoss' loss_param { class_weight: [0.125, 0.25] }";
  LayerRun run(layer, {Array({3, 2}), Array({3}, {0, 1, 1})});
  run.forward();
  EXPECT_NEAR(run.y()[0][0], std::log(2), 1e-6);
  LayerRun none("type: 'SoftmaxWithLoss' loss_param { class_weight: [1, 0] }", {Array({1, 2}), Array({1}, {1})});
  none.forward();
  EXPECT_EQ(none.y()[0][0], 0);
}

TEST(SoftmaxWithLoss, WeightsSamples) {
  const auto check = [](const std::string& options, const Shape& shape, const Shape& labels, const Rule& rule) {
    LayerCase layer_case = loss_case(options, shape, labels, rule);
    layer_case.x.push_back(random(labels, 4, 0, 2));
    check_layer(layer_case);
  };
  check("", {6, 10}, {6}, {});
  check("loss_param { ignore_label: 2 normalization: BATCH_SIZE }", {2, 5, 3, 4}, {2, 3, 4}, {By::kOuter, 2});
  check("loss_param { label_smoothing: 0.1 class_weight: [1, 2, 3] }", {7, 3}, {7},
        {.smoothing = 0.1, .weights = {1, 2, 3}});
}

TEST(SoftmaxWithLoss, SampleWeightsDoNotChangeTheNormalizer) {
  LayerRun run("type: 'SoftmaxWithLoss'", {Array({2, 2}), Array({2}, {0, 1}), Array({2}, {3, 0})});
  run.forward();
  EXPECT_NEAR(run.y()[0][0], 3 * std::log(2) / 2, 1e-6);
}

TEST(SoftmaxWithLoss, OneHotSoftLabelsEqualHardLabels) {
  const Shape shape = {4, 3};
  const Array x = random(shape, 1), hard({4}, {2, 0, 1, 1});
  Array soft(shape);
  for (size_t i = 0; i < 4; ++i) soft[i * 3 + size_t(hard[i])] = 1;
  LayerRun one("type: 'SoftmaxWithLoss'", {x, hard}), other("type: 'SoftmaxWithLoss'", {x, soft});
  one.forward();
  other.forward();
  expect_near(other.y()[0], one.y()[0], 1e-6, "loss");
  one.backward({Array(Shape(), 1.0)});
  other.backward({Array(Shape(), 1.0)});
  expect_near(other.dx(0), one.dx(0), 1e-6, "dx");
}

TEST(SoftmaxWithLoss, IsZeroWhenEveryLabelIsIgnored) {
  LayerCase layer_case = loss_case("loss_param { ignore_label: 255 }", {3, 4}, {3}, {By::kCounted, 255});
  layer_case.x[1] = Array({3}, 255.0);
  check_layer(layer_case);
}

TEST(SoftmaxWithLoss, ADeadNetSays87) {
  LayerRun run("type: 'SoftmaxWithLoss'", {Array({1, 2}, {0, 1000}), Array({1}, {0})});
  run.forward();
  EXPECT_NEAR(run.y()[0][0], 87.3365, 1e-4);
}

TEST(SoftmaxWithLoss, ReportsAnInvalidLabel) {
  const auto message = [](const Shape& shape, const Array& labels) -> std::string {
    LayerRun run("type: 'SoftmaxWithLoss' loss_param { ignore_label: -1 }", {Array(shape), labels});
    try {
      run.forward();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message({3, 10}, Array({3}, {0, 9, 10})).find("label 10 of item 2 is not one of the 10 classes"),
            std::string::npos);
  EXPECT_NE(message({3, 10}, Array({3}, {-1, -2, 0})).find("label -2 of item 1"), std::string::npos);
  EXPECT_NE(message({3, 10}, Array({3}, {0.5, 0, 0})).find("label 0.5 of item 0"), std::string::npos);
  EXPECT_NE(message({1, 2, 1, 3}, Array({1, 1, 3}, {0, 1, NAN})).find("label nan of item 0, place 2"),
            std::string::npos);
  EXPECT_EQ(message({3, 10}, Array({3}, {-1, 9, 0})), "no error");
}

TEST(SoftmaxWithLoss, InvalidLabelsYieldNanOnDevices) {
  for (const Device& device : tested_devices()) {
    LayerRun run("type: 'SoftmaxWithLoss'", {Array({3, 10}), Array({3}, {0, 9, 10})}, {.device = device});
    run.forward();
    EXPECT_TRUE(std::isnan(run.y()[0][0]));
    try {
      run.validate();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      EXPECT_NE(std::string(error.what()).find("label 10 of item 2"), std::string::npos) << error.what();
    }
    LayerRun good("type: 'SoftmaxWithLoss'", {Array({1, 2}, {NAN, 0}), Array({1}, {1})}, {.device = device});
    good.forward();
    EXPECT_TRUE(std::isnan(good.y()[0][0]));
    EXPECT_NO_THROW(good.validate()) << "the label is not to blame";
  }
}

TEST(SoftmaxWithLoss, ReportsErrors) {
  expect_field_error("type: 'SoftmaxWithLoss'", {{4, 10}, {4, 9}}, "bottom[1]",
                     "it has 36 labels (4x9) for 4 predictions (4x10)");
  expect_field_error("type: 'SoftmaxWithLoss' softmax_param { axis: 5 }", {{4, 10}, {4}}, "softmax_param.axis",
                     "does not exist");
  expect_field_error("type: 'SoftmaxWithLoss' loss_param { label_smoothing: 1 }", {{4, 10}, {4}},
                     "loss_param.label_smoothing", "must be in [0, 1)");
  expect_field_error("type: 'SoftmaxWithLoss'", {{4, 10}, {4}, {5}}, "bottom[2]", "5 weights (5) for 4 predictions");
  const auto expect_segnets = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'SoftmaxWithLoss' loss_param { " + options + " }", {{4, 2}, {4}}, "loss_param." + field,
                       words);
  };
  expect_segnets("weight_by_label_freqs: true", "weight_by_label_freqs", "class_weighting is missing");
  expect_segnets("class_weighting: [1, 2]", "class_weighting[0]", "no effect");
  expect_segnets("weight_by_label_freqs: true class_weighting: 1", "class_weighting[0]", "1 weight for 2 classes");
  expect_segnets("weight_by_label_freqs: true class_weighting: [1, 2] class_weight: [1, 2]", "class_weight[0]",
                 "both set");
  const auto expect_weights = [](const std::string& weights, const std::string& entry, const std::string& words) {
    expect_field_error("type: 'SoftmaxWithLoss' loss_param { class_weight: [" + weights + "] }", {{4, 2}, {4}},
                       "loss_param.class_weight[" + entry + "]", words);
  };
  expect_weights("1, 2, 3", "2", "3 weights for 2 classes");
  expect_weights("1", "0", "1 weight for 2 classes");
  expect_weights("1, -1", "1", "-1");
  expect_weights("nan, 1", "0", "nan");
}

}  // namespace
}  // namespace cortado::harness
