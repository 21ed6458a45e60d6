#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::string layer(const std::string& options) {
  return "type: 'ContinuationIndicator' continuation_indicator_param { " + options + " }";
}

TEST(ContinuationIndicator, IsZeroInTheFirstStep) {
  LayerRun run(layer("time_step: 3 batch_size: 2"), {});
  run.forward();
  EXPECT_EQ(run.y()[0].shape, (Shape{3, 2}));
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{0, 0, 1, 1, 1, 1}));
}

TEST(ContinuationIndicator, CountsTheSequencesOfABottom) {
  const auto made = [](const std::string& options) { return MadeLayer(layer(options), "", {{4, 3, 5}}).shapes.y[0]; };
  EXPECT_EQ(made("time_step: 4 axis: 1"), (Shape{4, 3}));
  EXPECT_EQ(made("time_step: 2"), (Shape{2, 4}));
  EXPECT_EQ(made("time_step: 4 axis: 2 batch_size: 5"), (Shape{4, 5}));
  LayerRun run(layer("time_step: 2 axis: 1"), {random({2, 1, 5}, 1)});
  run.forward();
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{0, 1}));
}

TEST(ContinuationIndicator, ReportsErrors) {
  const std::string param = "continuation_indicator_param";
  expect_field_error(layer("batch_size: 2"), {}, param, "time_step is missing");
  expect_field_error(layer("time_step: 0 batch_size: 2"), {}, param + ".time_step", "time_step is 0");
  expect_field_error(layer("time_step: 2"), {}, param, "neither batch_size nor a bottom");
  expect_field_error(layer("time_step: 2 batch_size: 3 axis: 1"), {}, param + ".axis", "needs a bottom");
  expect_field_error(layer("time_step: 2 axis: 2"), {{3, 4}}, param + ".axis", "axis 2 does not exist");
  expect_field_error(layer("time_step: 2 batch_size: 5"), {{3, 4}}, param + ".batch_size",
                     "batch_size is 5, but bottom[0] is 3x4: 3 along axis 0");
}

}  // namespace
}  // namespace cortado::harness
