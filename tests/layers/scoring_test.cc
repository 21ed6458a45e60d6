// The ratios of scores and the predicted classes (layers/roles.h), compared with counts by hand.

#include <gtest/gtest.h>

#include <cmath>

#include "core/device/device_memory.h"
#include "layers/roles.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

using Numbers = std::vector<float>;

std::vector<Device> all_devices() {
  std::vector<Device> devices = tested_devices();
  devices.insert(devices.begin(), Device{});
  return devices;
}

Numbers fetch(Context& context, const float* from, size_t count) {
  Numbers values(count);
  copy_to_host(context, values.data(), from, count * sizeof(float));
  return values;
}

/// The parts of y[k], n numerators and n denominators, the same on all devices.
Numbers parts_of(const std::string& layer, const Arrays& x, size_t k = 0, size_t n = 1) {
  Numbers parts;
  for (const Device& device : all_devices()) {
    LayerRun run(layer, x, {.device = device, .backward = false});
    run.forward();
    const Ratio quotient = dynamic_cast<Scoring&>(run.layer()).quotient(k);
    const Numbers here = quotient.sums ? fetch(run.context(), quotient.sums, 2 * n) : Numbers{float(quotient.fixed)};
    if (parts.empty()) parts = here;
    EXPECT_EQ(here.size(), parts.size());
    for (size_t i = 0; i < here.size(); ++i) EXPECT_FLOAT_EQ(here[i], parts[i]) << device.str();
  }
  return parts;
}

/// True and predicted classes.
Numbers judged(const std::string& layer, const Arrays& x) {
  Numbers notes;
  for (const Device& device : all_devices())
    for (const DType dtype : {DType::kF32, DType::kF16}) {
      LayerRun run(layer, x, {.dtype = dtype, .device = device, .backward = false});
      auto& scoring = dynamic_cast<Scoring&>(run.layer());
      EXPECT_EQ(scoring.predictions().rows, 0) << "nobody asked yet";
      EXPECT_EQ(scoring.note_classes(run.context()), x[0].shape[1]);
      run.forward();
      const PredictedClasses classes = scoring.predictions();
      const Numbers here = fetch(run.context(), classes.classes, size_t(2 * classes.rows));
      if (notes.empty()) notes = here;
      EXPECT_EQ(here, notes) << device.str();
    }
  return notes;
}

const Array kScores({5, 3}, {3, 2, 1,  //
                             1, 3, 2,  //
                             2, 1, 3,  //
                             1, 2, 3,  //
                             1, 2, 2});
const Array kLabels({5}, {0, 1, 0, 0, 2});

TEST(Scoring, AccuracyReturnsItsCounts) {
  EXPECT_EQ(parts_of("type: 'Accuracy'", {kScores, kLabels}), (Numbers{2, 5}));
  EXPECT_EQ(parts_of("type: 'Accuracy' accuracy_param { top_k: 2 }", {kScores, kLabels}), (Numbers{4, 5}));
  EXPECT_EQ(parts_of("type: 'Accuracy' accuracy_param { ignore_label: 0 }", {kScores, kLabels}), (Numbers{1, 2}));
  const std::string tops = "type: 'Accuracy' top: 'all' top: 'each'";
  EXPECT_EQ(parts_of(tops, {kScores, kLabels}, 1, 3), (Numbers{1, 1, 0, 3, 1, 1}));
  EXPECT_EQ(parts_of(tops + " accuracy_param { ignore_label: 0 top_k: 2 }", {kScores, kLabels}, 1, 3),
            (Numbers{0, 1, 1, 0, 1, 1}));
}

TEST(Scoring, RecordsPredictedClasses) {
  EXPECT_EQ(judged("type: 'Accuracy'", {kScores, kLabels}), (Numbers{0, 1, 0, 0, 2, 0, 1, 2, 2, 1}))
      << "the last is a tie, which is wrong";
  EXPECT_EQ(judged("type: 'Accuracy' accuracy_param { ignore_label: 0 top_k: 3 }", {kScores, kLabels}),
            (Numbers{-1, 1, -1, -1, 2, 0, 1, 2, 2, 1}));
  EXPECT_EQ(judged("type: 'SoftmaxWithLoss' loss_param { ignore_label: 0 }", {kScores, kLabels}),
            (Numbers{-1, 1, -1, -1, 2, 0, 1, 2, 2, 1}));
  EXPECT_EQ(judged("type: 'Accuracy'", {Array({2, 3}, {NAN, 1, 2, 1, NAN, 0}), Array({2}, {0, 0})}),
            (Numbers{0, 0, 2, 1}))
      << "NaN is never right";
}

TEST(Scoring, RecordsClassesAlongTheirAxis) {
  // 1 x 2 classes x 3 positions
  const Array scores({1, 2, 3}, {1, 5, 2,  //
                                 2, 4, 1});
  EXPECT_EQ(judged("type: 'Accuracy'", {scores, Array({1, 3}, {1, 0, 1})}), (Numbers{1, 0, 1, 1, 0, 0}));
}

TEST(Scoring, SoftLabelsHaveNoClasses) {
  LayerRun run("type: 'SoftmaxWithLoss'", {Array({2, 3}, 1.0), Array({2, 3}, 0.25)}, {.backward = false});
  EXPECT_EQ(dynamic_cast<Scoring&>(run.layer()).note_classes(run.context()), 0);
}

TEST(Scoring, LossesReturnTheirSumsIfTheyCountLabels) {
  const Arrays x = {Array({4, 2}, 0.0), Array({4}, {0, 1, 1, 0})};
  const float each = std::log(2.0f);
  const auto expect = [&](const std::string& type, const Numbers& wanted) {
    const Numbers parts = parts_of(type, x);
    ASSERT_EQ(parts.size(), wanted.size()) << type;
    for (size_t i = 0; i < parts.size(); ++i) EXPECT_NEAR(parts[i], wanted[i], 1e-6) << type;
  };
  for (const char* type : {"type: 'SoftmaxWithLoss' ", "type: 'FocalLoss' focal_loss_param { gamma: 0 alpha: 1 } "}) {
    const std::string loss = type;
    expect(loss, {4 * each, 4});
    expect(loss + "loss_param { ignore_label: 0 }", {2 * each, 2});
    expect(loss + "loss_param { normalization: FULL }", {4});
    expect(loss + "loss_param { normalize: false }", {4});
    expect(loss + "loss_param { normalization: NONE }", {0});
    expect(loss + "loss_param { normalization: PRE_FIXED pre_fixed_normalizer: 7 }", {0});
  }
  expect("type: 'SoftmaxWithLoss' loss_param { class_weight: 1 class_weight: 0.25 }", {2.5f * each, 2.5f});
  const Arrays targets = {Array({2, 2}, 0.0), Array({2, 2}, {0, 1, 9, 1})};
  const std::string sigmoid = "type: 'SigmoidCrossEntropyLoss' loss_param { ignore_label: 9 ";
  EXPECT_EQ(parts_of(sigmoid + "}", targets), (Numbers{2}));
  EXPECT_NEAR(parts_of(sigmoid + "normalization: VALID }", targets)[0], 3 * each, 1e-6);
  EXPECT_EQ(parts_of(sigmoid + "normalization: VALID }", targets)[1], 3);
}

TEST(Scoring, LossesOfTheBatchReturnItsSize) {
  const Array a({3, 2}, 1.0), b({3, 2}, 0.5), labels({3}, {0, 1, 1});
  for (const char* type : {"EuclideanLoss", "L1Loss", "SmoothL1Loss"})
    EXPECT_EQ(parts_of(std::string("type: '") + type + "'", {a, b}), (Numbers{3})) << type;
  for (const char* type : {"HingeLoss", "MultinomialLogisticLoss"})
    EXPECT_EQ(parts_of(std::string("type: '") + type + "'", {a, labels}), (Numbers{3})) << type;
  EXPECT_EQ(parts_of("type: 'ContrastiveLoss'", {a, b, labels}), (Numbers{3}));
}

}  // namespace
}  // namespace cortado::harness
