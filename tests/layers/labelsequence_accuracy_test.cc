#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Scores N x T x 4 with these best classes.
Array scores(const std::vector<std::vector<int>>& classes) {
  const size_t sequences = classes.size(), steps = classes[0].size();
  Array x = random({int64_t(sequences), int64_t(steps), 4}, 1, -1, 0.5);
  for (size_t n = 0; n < sequences; ++n)
    for (size_t t = 0; t < steps; ++t) x[(n * steps + t) * 4 + size_t(classes[n][t])] = 1;
  return x;
}

double share(const std::string& options, const Array& x, const Array& labels) {
  LayerRun run("type: 'LabelsequenceAccuracy' labelsequence_accuracy_param { " + options + " }", {x, labels});
  run.forward();
  return run.y()[0][0];
}

TEST(LabelsequenceAccuracy, CountsCorrectSequences) {
  const Array x = scores({{0, 2, 2, 0, 2, 1}, {3, 3, 3, 3, 3, 3}, {0, 0, 0, 0, 0, 0}, {1, 2, 3, 2, 1, 0}});
  EXPECT_EQ(share("", x, Array({4, 5}, {2, 2, 1, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 2, 1})), 1);
  EXPECT_EQ(share("", x, Array({4, 5}, {2, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 2, 3, 2, 1})), 0.5);
  EXPECT_EQ(share("", x, Array({4, 2}, {2, 2, 3, 3, 0, 1, 1, 2})), 0);
}

TEST(LabelsequenceAccuracy, TakesAnyBlank) {
  const Array x = scores({{3, 2, 2, 3, 2, 0}});
  EXPECT_EQ(share("blank_label: 3", x, Array({1, 4}, {2, 2, 0, 3})), 1);
  EXPECT_EQ(share("blank_label: 3", x, Array({1, 4}, {2, 2, 0, 0})), 0);
}

TEST(LabelsequenceAccuracy, ReportsErrors) {
  const std::string layer = "type: 'LabelsequenceAccuracy'", param = "labelsequence_accuracy_param";
  expect_field_error(layer, {{5, 2}, {5, 3}}, "bottom[0]", "its shape is 5x2; scores are sequences x steps x classes");
  expect_field_error(layer, {{5, 2, 4}, {2, 5}}, "bottom[1]", "its shape is 2x5, but bottom[0] has 5 sequences");
  expect_field_error(layer + " " + param + " { blank_label: 4 }", {{5, 2, 4}, {5, 2}}, param + ".blank_label",
                     "the blank is class 4, but there are 4 classes");
  expect_field_error(layer + " " + param + " { blank_label: -1 }", {{5, 2, 4}, {5, 2}}, param + ".blank_label",
                     "blank_label is negative");
}

}  // namespace
}  // namespace cortado::harness
