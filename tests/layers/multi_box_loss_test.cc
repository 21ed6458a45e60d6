#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

constexpr size_t kPriors = 6, kClasses = 3;

const double kBoxes[kPriors][4] = {{0, 0, 0.5, 0.5}, {0.5, 0, 1, 0.5},         {0, 0.5, 0.5, 1},
                                   {0.5, 0.5, 1, 1}, {0.25, 0.25, 0.75, 0.75}, {0, 0, 1, 1}};
const double kVariances[4] = {0.1f, 0.1f, 0.2f, 0.2f};

Array priors() {
  Array made({1, 2, kPriors * 4});
  for (size_t i = 0; i < kPriors * 4; ++i) {
    made[i] = kBoxes[i / 4][i % 4];
    made[kPriors * 4 + i] = kVariances[i % 4];
  }
  return made;
}

/// Two objects in the first image, one and a difficult one in the second; the last row is unused.
Array objects() {
  return Array({1, 1, 5, 8}, {0,  1,  0,  0,   0,   0.5, 0.375, 0,  //
                              0,  2,  0,  0.5, 0.5, 1,   0.75,  0,  //
                              1,  1,  0,  0,   0,   1,   0.875, 0,  //
                              1,  2,  1,  0.5, 0.5, 1,   1,     1,  //
                              -1, -1, -1, -1,  -1,  -1,  -1,    -1});
}

/// Scores for which, of the first image's background boxes, the third and the last have the largest loss.
Array scores() {
  Array made = random({2, kPriors * kClasses}, 5, -0.5, 0.5);
  for (const auto& [p, background] : std::map<size_t, double>{{1, 2}, {2, -4}, {4, 2.5}, {5, -3.5}})
    made[p * kClasses] = background;
  return made;
}

Array offsets() { return keep_away(random({2, kPriors * 4}, 6, -0.25, 0.25), 0); }

struct Rule {
  bool smooth = true, logistic = false, center = true;
  double loc_weight = 1, normalizer = 6;
};

/// Target k of the offsets of a prior.
double code(const double* prior, const double* box, size_t k, bool center) {
  const size_t axis = k % 2;
  if (!center) return (box[k] - prior[k]) / kVariances[k];
  const double side = prior[2 + axis] - prior[axis], of_box = box[2 + axis] - box[axis];
  if (k > 1) return std::log(of_box / side) / kVariances[k];
  return (box[axis] + box[2 + axis] - prior[axis] - prior[2 + axis]) / 2 / side / kVariances[k];
}

double class_loss(const double* x, size_t label, bool logistic) {
  double sum = 0, each = 0;
  for (size_t c = 0; c < kClasses; ++c) {
    sum += std::exp(x[c]);
    each += std::log1p(std::exp(x[c])) - (c == label ? x[c] : 0);
  }
  return logistic ? each : std::log(sum) - x[label];
}

/// The loss for known matches: the object (or -1) of each box that counts, by image and prior.
using Known = std::map<std::pair<size_t, size_t>, int>;

Arrays loss_of(const Arrays& x, const Known& known, const Rule& rule) {
  double loss = 0;
  for (const auto& [place, object] : known) {
    const auto& [image, p] = place;
    const size_t at = image * kPriors + p;
    const size_t label = object < 0 ? 0 : size_t(x[3][size_t(object) * 8 + 1]);
    loss += class_loss(&x[1].values[at * kClasses], label, rule.logistic);
    for (size_t k = 0; k < 4 && object >= 0; ++k) {
      const double d =
          x[0][at * 4 + k] - code(&x[2].values[p * 4], &x[3].values[size_t(object) * 8 + 3], k, rule.center);
      loss += rule.loc_weight * (!rule.smooth || std::fabs(d) < 1 ? d * d / 2 : std::fabs(d) - 0.5);
    }
  }
  return {Array(Shape(), {loss / rule.normalizer})};
}

/// Matched: the best box of each object, and all that overlap one by a quarter.
const Known kMatched = {{{0, 0}, 0}, {{0, 3}, 1}, {{1, 0}, 2}, {{1, 1}, 2}, {{1, 4}, 2}, {{1, 5}, 2}};

Known with(Known known, const std::vector<std::pair<size_t, size_t>>& negatives) {
  for (const auto& place : negatives) known[place] = -1;
  return known;
}

const std::string kParam = "num_classes: 3 overlap_threshold: 0.25 use_difficult_gt: false ",
                  kCenters = "code_type: CENTER_SIZE ", kAsMany = kCenters + "neg_pos_ratio: 1 ";

LayerCase multi_box(const std::string& options, const Known& known, const Rule& rule = {},
                    const std::string& more = "") {
  return {.layer = "type: 'MultiBoxLoss' multibox_loss_param { " + kParam + options + " } " + more,
          .x = {offsets(), scores(), priors(), objects()},
          .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return loss_of(x, known, rule); },
          .tolerance = 5e-4};
}

TEST(MultiBoxLoss, MinesTheNegativesWithTheLargestLoss) {
  check_layer(multi_box(kAsMany, with(kMatched, {{0, 2}, {0, 5}, {1, 2}, {1, 3}})));
  check_layer(multi_box(kCenters + "neg_pos_ratio: 0.5", with(kMatched, {{0, 2}, {1, 2}, {1, 3}})));
}

/// The last box of the first image overlaps an object by exactly 3/16, and the third box by nothing.
TEST(MultiBoxLoss, ANegativeOverlapsByLessThanTheThreshold) {
  check_layer(multi_box(kAsMany + "neg_overlap: 0.1875", with(kMatched, {{0, 1}, {0, 2}})));
  check_layer(multi_box(kAsMany + "neg_overlap: 0.1876", with(kMatched, {{0, 2}, {0, 5}})));
}

/// The same box is matched at exactly that overlap.
TEST(MultiBoxLoss, AMatchOverlapsByTheThresholdOrMore) {
  const auto with_threshold = [](const std::string& threshold, const Known& known, double normalizer) {
    LayerCase layer_case = multi_box(kCenters + "mining_type: NONE neg_overlap: 0", known, {.normalizer = normalizer});
    const std::string old = "overlap_threshold: 0.25";
    layer_case.layer.replace(layer_case.layer.find(old), old.size(), "overlap_threshold: " + threshold);
    return layer_case;
  };
  const Known matched = {{{0, 0}, 0}, {{0, 3}, 1}, {{0, 4}, 1}, {{1, 0}, 2}, {{1, 1}, 2},
                         {{1, 2}, 2}, {{1, 3}, 2}, {{1, 4}, 2}, {{1, 5}, 2}};
  Known exactly = with(matched, {{0, 1}, {0, 2}}), above = with(matched, {{0, 1}, {0, 2}, {0, 5}});
  exactly[{0, 5}] = 0;
  check_layer(with_threshold("0.1875", exactly, 10));
  check_layer(with_threshold("0.1876", above, 9));
}

TEST(MultiBoxLoss, SupportsOtherLossesCodesAndWeights) {
  const Known known = with(kMatched, {{0, 2}, {0, 5}, {1, 2}, {1, 3}});
  check_layer(multi_box(kAsMany + "loc_loss_type: L2 loc_weight: 0.25", known, {.smooth = false, .loc_weight = 0.25}));
  check_layer(multi_box(kAsMany + "conf_loss_type: LOGISTIC", known, {.logistic = true}));
  check_layer(multi_box("neg_pos_ratio: 1 code_type: CORNER", known, {.center = false}));
}

TEST(MultiBoxLoss, UsesTheNormalizer) {
  const Known known = with(kMatched, {{0, 2}, {0, 5}, {1, 2}, {1, 3}});
  check_layer(multi_box(kAsMany, known, {.normalizer = 2}, "loss_param { normalization: BATCH_SIZE }"));
  check_layer(multi_box(kAsMany, known, {.normalizer = 12}, "loss_param { normalization: FULL }"));
  check_layer(multi_box(kAsMany, known, {.normalizer = 1}, "loss_param { normalization: NONE }"));
}

TEST(MultiBoxLoss, SupportsAllNegatives) {
  check_layer(
      multi_box(kCenters + "mining_type: NONE", with(kMatched, {{0, 1}, {0, 2}, {0, 4}, {0, 5}, {1, 2}, {1, 3}})));
}

TEST(MultiBoxLoss, SupportsBipartiteMatching) {
  const Known best = {{{0, 0}, 0}, {{0, 3}, 1}, {{1, 5}, 2}};
  check_layer(multi_box(kCenters + "match_type: BIPARTITE mining_type: NONE neg_overlap: 0",
                        with(best, {{0, 1}, {0, 2}, {0, 4}, {0, 5}, {1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}}),
                        {.normalizer = 3}));
}

TEST(MultiBoxLoss, SupportsHardExampleMining) {
  // Boxes far from their codes have the largest loss, and those of the first image with confident wrong scores.
  const Known hardest = {{{0, 3}, 1}, {{0, 2}, -1}, {{0, 5}, -1}, {{1, 0}, 2}, {{1, 1}, 2}, {{1, 4}, 2}};
  check_layer(multi_box(kCenters + "mining_type: HARD_EXAMPLE sample_size: 3", hardest, {.normalizer = 4}));
}

TEST(MultiBoxLoss, IsZeroWithoutObjects) {
  LayerCase empty = multi_box(kCenters, {}, {.normalizer = 1});
  empty.x[3] = Array({1, 1, 1, 8}, -1);
  check_layer(empty);
}

TEST(MultiBoxLoss, ReportsAnInvalidLabel) {
  for (const double label : {3.0, 0.0, 1.5}) {
    Array wrong = objects();
    wrong[1] = label;
    LayerRun run("type: 'MultiBoxLoss' multibox_loss_param { " + kParam + " }", {offsets(), scores(), priors(), wrong},
                 {});
    EXPECT_THROW(run.validate(), Error) << label;
  }
}

TEST(MultiBoxLoss, ReportsErrors) {
  const std::vector<Shape> x = {{2, 24}, {2, 18}, {1, 2, 24}, {1, 1, 4, 8}};
  const auto wrong = [&](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'MultiBoxLoss' multibox_loss_param { " + options + " }", x,
                       "multibox_loss_param." + field, words);
  };
  wrong("", "num_classes", "it is 0");
  wrong("num_classes: 3 background_label_id: 3", "background_label_id", "it is 3");
  wrong("num_classes: 3 share_location: false", "share_location", "boxes for each class");
  wrong("num_classes: 3 neg_pos_ratio: -1", "neg_pos_ratio", "it is -1");
  wrong("num_classes: 3 mining_type: HARD_EXAMPLE sample_size: 0", "sample_size", "it is 0");
  wrong("num_classes: 3 mining_type: NONE do_neg_mining: true", "do_neg_mining", "contradicts mining_type");
  expect_field_error("type: 'MultiBoxLoss' multibox_loss_param { num_classes: 3 }",
                     {{2, 24}, {2, 18}, {1, 2, 24}, {1, 1, 4, 7}}, "bottom[3]", "8 values");
}

}  // namespace
}  // namespace cortado::harness
