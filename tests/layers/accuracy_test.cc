#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

Arrays accuracy(const std::string& options, const Array& scores, const Array& labels, const std::string& tops = "") {
  const std::string layer = "type: 'Accuracy' " + tops + " accuracy_param { " + options + " }";
  LayerRun run(layer, {scores, labels}, {.backward = false});
  run.forward();
  for (const Device& device : tested_devices())
    for (const DType dtype : {DType::kF32, DType::kF16}) {
      LayerRun other(layer, {scores, labels}, {.dtype = dtype, .device = device, .backward = false});
      other.forward();
      for (size_t i = 0; i < run.y().size(); ++i) EXPECT_TRUE(same_bits(other.y()[i], run.y()[i])) << device.str();
    }
  return run.y();
}

const Array kScores({4, 3}, {3, 2, 1,  //
                             1, 3, 2,  //
                             2, 1, 3,  //
                             1, 2, 3});

TEST(Accuracy, CountsSamplesWhoseBestClassIsTrue) {
  const Arrays y = accuracy("", kScores, Array({4}, {0, 1, 0, 0}));
  EXPECT_EQ(y[0].shape, Shape());
  EXPECT_EQ(y[0][0], 0.5);
}

TEST(Accuracy, UsesTheBestK) {
  EXPECT_EQ(accuracy("top_k: 2", kScores, Array({4}, {1, 0, 0, 0}))[0][0], 0.5);
  EXPECT_EQ(accuracy("top_k: 3", kScores, Array({4}, {1, 0, 0, 0}))[0][0], 1);
}

TEST(Accuracy, TakesTheSmallestScores) {
  EXPECT_EQ(accuracy("min_is_better: true", kScores, Array({4}, {2, 0, 0, 0}))[0][0], 0.75);
  EXPECT_EQ(accuracy("min_is_better: true top_k: 2", kScores, Array({4}, {1, 1, 0, 2}))[0][0], 0.5);
  EXPECT_EQ(accuracy("min_is_better: true", Array({2, 3}, {1, 1, 2, 0, 1, NAN}), Array({2}, {0, 0}))[0][0], 0);
}

TEST(Accuracy, CountsTiesAgainstTheSample) {
  const Array equal({2, 3}, 1.0);
  EXPECT_EQ(accuracy("", equal, Array({2}, {0, 2}))[0][0], 0);
  EXPECT_EQ(accuracy("top_k: 2", equal, Array({2}, {0, 2}))[0][0], 0);
  EXPECT_EQ(accuracy("top_k: 3", equal, Array({2}, {0, 2}))[0][0], 1);
}

TEST(Accuracy, CountsNanAgainstTheSample) {
  EXPECT_EQ(accuracy("", Array({1, 2}, {NAN, NAN}), Array({1}, 0.0))[0][0], 0);
}

TEST(Accuracy, SkipsTheIgnoredLabel) {
  EXPECT_EQ(accuracy("ignore_label: -1", kScores, Array({4}, {0, -1, -1, 0}))[0][0], 0.5);
  EXPECT_EQ(accuracy("ignore_label: 0", kScores, Array({4}, {0, 0, 0, 0}))[0][0], 0) << "nothing left";
}

TEST(Accuracy, CountsClassesSeparately) {
  const Arrays y = accuracy("", kScores, Array({4}, {0, 1, 0, 0}), "top: 'all' top: 'each'");
  EXPECT_EQ(y[1].shape, Shape{3});
  EXPECT_NEAR(y[1][0], 1.0 / 3, 1e-6);
  EXPECT_EQ(y[1][1], 1);
  EXPECT_EQ(y[1][2], 0) << "does not occur";
}

TEST(Accuracy, UsesItsAxis) {
  // 1 x 2 classes x 3 positions
  const Array scores({1, 2, 3}, {1, 5, 2,  //
                                 2, 4, 1});
  EXPECT_NEAR(accuracy("", scores, Array({1, 3}, {1, 0, 1}))[0][0], 2.0 / 3, 1e-6);
  EXPECT_NEAR(accuracy("axis: -1", Array({1, 2}, {1, 2}), Array({1}, 1.0))[0][0], 1, 1e-6);
}

TEST(Accuracy, RejectsInvalidLabels) {
  for (const double label : {3.0, -1.0, 1e30, double(NAN)}) {
    try {
      accuracy("", kScores, Array({4}, {0, 1, label, 0}));
      ADD_FAILURE() << label;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      EXPECT_NE(error.mistakes()[0].message.find("of item 2 is not one of the 3 classes"), std::string::npos)
          << error.what();
    }
  }
}

TEST(Accuracy, InvalidLabelsYieldNanOnDevices) {
  for (const Device& device : tested_devices()) {
    LayerRun run("type: 'Accuracy'", {kScores, Array({4}, {0, 1, 3, 0})}, {.device = device, .backward = false});
    run.forward();
    EXPECT_TRUE(std::isnan(run.y()[0][0]));
    EXPECT_THROW(run.validate(), Error);
  }
}

TEST(Accuracy, RejectsMismatchedShapes) {
  expect_field_error("type: 'Accuracy'", {{4, 3}, {5}}, "bottom[1]", "5 labels, but the scores of shape 4x3");
  expect_field_error("type: 'Accuracy' accuracy_param { top_k: 4 }", {{4, 3}, {4}}, "accuracy_param.top_k",
                     "3 classes");
  expect_field_error("type: 'Accuracy' accuracy_param { top_k: 0 }", {{4, 3}, {4}}, "accuracy_param.top_k",
                     "top_k is 0");
  expect_field_error("type: 'Accuracy' accuracy_param { axis: 2 }", {{4, 3}, {4}}, "accuracy_param.axis",
                     "axis 2 does not exist");
}

TEST(Accuracy, HasNoGradient) {
  const MadeLayer made("type: 'Accuracy'", "", {{4, 3}, {4}});
  EXPECT_FALSE(made.layer->differentiable(0));
  EXPECT_FALSE(made.layer->differentiable(1));
}

}  // namespace
}  // namespace cortado::harness
