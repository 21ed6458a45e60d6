#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Scores T x N x 4 with these best classes, listed sequence by sequence.
Array scores(const std::vector<std::vector<int>>& classes) {
  const size_t sequences = classes.size(), steps = classes[0].size();
  Array x = random({int64_t(steps), int64_t(sequences), 4}, 1, -1, 0.5);
  for (size_t n = 0; n < sequences; ++n)
    for (size_t t = 0; t < steps; ++t) x[(t * sequences + n) * 4 + size_t(classes[n][t])] = 1;
  return x;
}

const std::vector<std::vector<int>> kPaths = {{0, 2, 2, 0, 2, 1}, {3, 3, 3, 3, 3, 3}, {0, 0, 0, 0, 0, 0}};

std::vector<double> decoded(const std::string& options, const Array& x) {
  LayerRun run("type: 'CTCGreedyDecoder' ctc_decoder_param { " + options + " }", {x});
  run.forward();
  EXPECT_EQ(run.y()[0].shape, (Shape{x.shape[1], x.shape[0]}));
  return run.y()[0].values;
}

TEST(CtcGreedyDecoder, DropsRepetitionsAndBlanks) {
  EXPECT_EQ(decoded("", scores(kPaths)),
            (std::vector<double>{2, 2, 1, -1, -1, -1, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(decoded("ctc_merge_repeated: false", scores({kPaths[0]})), (std::vector<double>{2, 2, 2, 1, -1, -1}));
  EXPECT_EQ(decoded("blank_index: 2", scores({kPaths[0]})), (std::vector<double>{0, 0, 1, -1, -1, -1}));
  EXPECT_EQ(decoded("blank_index: -1", scores({{3, 1, 3, 0}})), (std::vector<double>{1, 0, -1, -1}));
}

TEST(CtcGreedyDecoder, TakesTheFirstOfEqualScoresAndNaN) {
  EXPECT_EQ(decoded("", Array({1, 1, 4}, {1, 2, 2, 0})), (std::vector<double>{1}));
  EXPECT_EQ(decoded("", Array({1, 1, 4}, NAN)), (std::vector<double>{-1}));
}

double share(const Array& x, const Array& labels) {
  LayerRun run("type: 'CTCGreedyDecoder'", {x, labels});
  run.forward();
  return run.y()[0][0];
}

TEST(CtcGreedyDecoder, ReturnsTheFractionOfCorrectSequences) {
  const Array x = scores(kPaths);
  EXPECT_EQ(share(x, Array({3, 4}, {2, 2, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0})), 1);
  EXPECT_EQ(share(x, Array({3, 4}, {2, 0, 2, 1, 0, 0, 3, 0, 0, 0, 0, 0})), 1) << "blanks do not count";
  EXPECT_EQ(share(x, Array({3, 3}, {2, 1, 0, 3, 3, 0, 0, 0, 0})), float(1.0 / 3));
  EXPECT_EQ(share(x, Array({3, 4}, {2, 2, 1, 1, -1, 0, 0, 0, 9, NAN, 0, 0})), 0);
}

TEST(CtcGreedyDecoder, ReportsErrors) {
  const std::string layer = "type: 'CTCGreedyDecoder'";
  expect_field_error(layer, {{5, 2}}, "bottom[0]", "its shape is 5x2; scores are steps x sequences x classes");
  expect_field_error(layer, {{5, 2, 4}, {5, 2}}, "bottom[1]", "its shape is 5x2, but bottom[0] has 2 sequences");
  expect_field_error(layer + " ctc_decoder_param { blank_index: 4 }", {{5, 2, 4}}, "ctc_decoder_param.blank_index",
                     "the blank is class 4, but there are 4 classes");
}

}  // namespace
}  // namespace cortado::harness
