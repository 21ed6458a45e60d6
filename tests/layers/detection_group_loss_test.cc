#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/error.h"
#include "tests/harness/branches.h"
#include "tests/harness/invalid_labels.h"

namespace cortado::harness {
namespace {

constexpr double kWidths[] = {8, 20}, kHeights[] = {4, 10};

std::string layer(const std::string& options, const std::string& rest = "") {
  const std::string classes = options.find("cls_num") == std::string::npos ? " cls_num: 3" : "";
  return "type: 'DetectionGroupLoss' detection_group_loss_param { field_w: 8 field_w: 20 field_h: 4 field_h: 10 "
         "stride: 10 " +
         options + classes + " } " + rest;
}

/// Two images with two templates, of 4 x 5 positions; four objects in the first image and one in the second.
Arrays example(int64_t classes = 3) {
  return {distinct({4, classes, 4, 5}, 1, 0.01), random({4, 4, 4, 5}, 2),
          branch_labels_of(4, 4, 5,
                           {{0, 3, 1, 36, 4, 9, 5},
                            {0, 7, 1, 20, 17, 30, 3},
                            {1, 11, 2, 12, 25, 6, 1},
                            {1, 12, 1, 22, 23, 12, 9},
                            {3, 19, 2, 47, 35, 8, 4}})};
}

struct Rule {
  double lambda = 1, objects_share = 0;  ///< objects_share: of pos_neg_weighted; 0: not weighted
  bool smooth = true, objectness = false;
  double mean[4] = {0, 0, 0, 0}, deviation[4] = {1, 1, 1, 1};
  double ignored = -1e9;
  std::set<size_t> selected = {};  ///< numbered over all planes
};

class Reference {
 public:
  Reference(const Arrays& x, Rule rule) : x_(x), classes_(size_t(x[0].shape[1])), rule_(std::move(rule)) {}

  double label(size_t i) const { return x_[2][i / 20 * 120 + i % 20]; }
  bool object(size_t i) const { return label(i) > 0 && label(i) != rule_.ignored; }

  double entropy(size_t i) const {
    double sum = 0;
    for (size_t c = 0; c < classes_; ++c) sum += std::exp(score(i, c));
    return std::log(sum) - score(i, size_t(rule_.objectness ? std::min(label(i), 1.0) : label(i)));
  }

  /// The `count` background positions of an image with the largest losses.
  std::set<size_t> hardest(size_t image, size_t count) const {
    std::vector<std::pair<double, size_t>> found;
    for (size_t i = 40 * image; i < 40 * (image + 1); ++i)
      if (label(i) == 0 && x_[2][i / 20 * 120 + 100 + i % 20] < 0.5) found.emplace_back(-entropy(i), i);
    std::sort(found.begin(), found.end());
    std::set<size_t> chosen;
    for (size_t k = 0; k < std::min(count, found.size()); ++k) chosen.insert(found[k].second);
    return chosen;
  }

  /// Both values of y.
  std::vector<double> loss() const {
    double objects = 0, classes = 0, boxes = 0;
    const double all = double(rule_.selected.size());
    for (const size_t i : rule_.selected) objects += object(i);
    for (const size_t i : rule_.selected) {
      const double share = rule_.objects_share;
      const double weight = share == 0 ? 1 : object(i) ? share * all / objects : (1 - share) * all / (all - objects);
      classes += weight * entropy(i);
      if (object(i)) boxes += box(i);
    }
    const double b = objects > 0 ? rule_.lambda * boxes / (4 * objects) : 0;
    return {(all > 0 ? classes / all : 0) + b, b};
  }

 private:
  double score(size_t i, size_t c) const { return x_[0][(i / 20 * classes_ + c) * 20 + i % 20]; }

  double box(size_t i) const {
    const size_t plane = i / 20, p = i % 20;
    const auto number = [&](size_t k) { return x_[2][plane * 120 + 20 * (k + 1) + p]; };
    const double width = kWidths[plane % 2], height = kHeights[plane % 2];
    const double g[] = {(number(0) - (double(p % 5) + 0.5) * 10) / width,
                        (number(1) - (double(p / 5) + 0.5) * 10) / height, std::log(std::max(number(2), 2.0) / width),
                        std::log(std::max(number(3), 2.0) / height)};
    double sum = 0;
    for (size_t k = 0; k < 4; ++k) {
      const double d = std::fabs(x_[1][(plane * 4 + k) * 20 + p] - (g[k] - rule_.mean[k]) / rule_.deviation[k]);
      sum += rule_.smooth && d >= 1 ? d - 0.5 : d * d / 2;
    }
    return sum;
  }

  const Arrays& x_;
  size_t classes_;
  Rule rule_;
};

/// All objects, and `first` and `second` of the hardest background positions of both images.
Rule with_hardest(const Arrays& x, Rule rule, size_t first, size_t second) {
  const Reference reference(x, rule);
  std::set<size_t> selected = reference.hardest(0, first);
  selected.merge(reference.hardest(1, second));
  for (size_t i = 0; i < 80; ++i)
    if (reference.object(i)) selected.insert(i);
  rule.selected = selected;
  return rule;
}

/// Small changes do not change the selection, and no gradient flows from the second value.
void check(const std::string& text, const Arrays& x, const Rule& rule) {
  const double shown = Reference(x, rule).loss()[1];
  check_layer({.layer = text, .x = x, .reference = [=](const Arrays& changed, const Arrays&) -> Arrays {
                 return {Array({1, 1, 1, 2}, {Reference(changed, rule).loss()[0], shown})};
               }});
}

const std::string kHard = "neg_mining_type: 'bootstrap' ";

TEST(DetectionGroupLoss, UsesObjectsAndTheHardestBackground) {
  const Arrays x = example();
  check(layer(kHard + "bg_multiple: 2 min_num_neg: 5"), x, with_hardest(x, {}, 8, 5));
  check(layer(kHard + "bg_multiple: 1 min_num_neg: 1 lambda: 0.25 bbox_loss_type: 'Euclidean_L2'"), x,
        with_hardest(x, {.lambda = 0.25, .smooth = false}, 4, 1));
  check(layer(kHard + "batch_size: 12 bg_multiple: 1"), x, with_hardest(x, {}, 8, 11));
  check(layer(kHard + "batch_size: 12 bg_multiple: 1 neg_ranking_type: 'conf_prob'"), x, with_hardest(x, {}, 8, 11));
}

TEST(DetectionGroupLoss, DistinguishesOnlyObjectsFromBackground) {
  const Arrays x = example(2);
  check(layer(kHard + "bg_multiple: 1 cls_num: 2 objectness: true"), x, with_hardest(x, {.objectness = true}, 5, 5));
}

TEST(DetectionGroupLoss, WeighsObjectsAndBackground) {
  const Arrays x = example();
  check(layer(kHard + "bg_multiple: 3 pos_neg_weighted: true"), x, with_hardest(x, {.objects_share = 0.25}, 12, 5));
}

TEST(DetectionGroupLoss, ComparesNormalizedOffsets) {
  const Arrays x = example();
  check(layer(kHard + "bg_multiple: 1",
              "bbox_reg_param { bbox_mean: 0.1 bbox_mean: 0.2 bbox_mean: 0.3 bbox_mean: 0.4 bbox_std: 0.5 bbox_std: 2 "
              "bbox_std: 0.25 bbox_std: 4 }"),
        x, with_hardest(x, {.mean = {0.1, 0.2, 0.3, 0.4}, .deviation = {0.5, 2, 0.25, 4}}, 5, 5));
}

TEST(DetectionGroupLoss, SkipsIgnoredAndUnclearPositions) {
  Arrays x = example();
  for (size_t p = 12; p < 19; ++p) x[2][100 + p] = 0.6;
  check(layer(kHard + "bg_multiple: 1", "loss_param { ignore_label: 2 }"), x, with_hardest(x, {.ignored = 2}, 5, 5));
}

/// The selected positions, and whether y is their loss.
std::set<size_t> selected(const std::string& options, const Arrays& x, uint64_t pass) {
  LayerRun run(layer(options), x, {.pass = pass});
  run.forward();
  run.backward({Array({1, 1, 1, 2}, 1.0)});
  std::set<size_t> places;
  for (size_t i = 0; i < 80; ++i)
    if (run.dx(0)[i / 20 * 60 + i % 20] != 0) places.insert(i);
  EXPECT_NEAR(run.y()[0][0], Reference(x, {.selected = places}).loss()[0], 1e-5);
  return places;
}

TEST(DetectionGroupLoss, DrawsInEachPass) {
  const Arrays x = example();
  const std::set<size_t> first = selected("batch_size: 4 bg_multiple: 1", x, 0);
  EXPECT_EQ(first, selected("batch_size: 4 bg_multiple: 1", x, 0));
  EXPECT_NE(first, selected("batch_size: 4 bg_multiple: 1", x, 1));
  const Reference reference(x, {});
  const auto objects = [&](size_t from, size_t to) {
    return std::count_if(first.lower_bound(from), first.lower_bound(to), [&](size_t i) { return reference.object(i); });
  };
  EXPECT_EQ(first.size(), 8u);
  EXPECT_EQ(objects(0, 40), 2);
  EXPECT_EQ(objects(40, 80), 1);
  const std::set<size_t> both = selected("batch_size: 9 bg_multiple: 8 neg_mining_type: 'mixture'", x, 0);
  EXPECT_EQ(both.size(), 18u);
  const std::set<size_t> hard = reference.hardest(0, 4);
  EXPECT_TRUE(std::includes(both.begin(), both.end(), hard.begin(), hard.end()));
}

TEST(DetectionGroupLoss, GradientBeyondTheLimitsIsThatAtTheLimits) {
  const std::string limits = "field_whr: 2 field_xyr: 4 bbox_loss_type: 'Euclidean_L2' min_num_neg: 0 bg_multiple: 0";
  Arrays x = {Array({2, 3, 1, 1}, 0.0), Array({2, 4, 1, 1}, 0.0), branch_labels_of(2, 1, 1, {{0, 0, 1, 5, 5, 8, 4}})};
  x[1][0] = -5, x[1][2] = 9;
  LayerRun run(layer(limits), x);
  run.forward();
  const double b = (1 / 16. + std::log(2) * std::log(2)) / 2 / 4;
  EXPECT_NEAR(run.y()[0][0], std::log(3) + b, 1e-6);
  run.backward({Array({1, 1, 1, 2}, {1, 0})});
  EXPECT_NEAR(run.dx(1)[0], -0.25 / 4, 1e-6);
  EXPECT_NEAR(run.dx(1)[2], std::log(2) / 4, 1e-6);
  LayerRun unlimited(layer("field_whr: 2 bbox_loss_type: 'Euclidean_L2' min_num_neg: 0 bg_multiple: 0"), x);
  unlimited.forward();
  EXPECT_NEAR(unlimited.y()[0][1], (25 + 81) / 2. / 4, 1e-5);
}

TEST(DetectionGroupLoss, AcceptsBatchesWithoutSelectedPositions) {
  Arrays x = {random({2, 3, 2, 2}, 1), random({2, 4, 2, 2}, 2), branch_labels_of(2, 2, 2, {})};
  for (const size_t plane : {0, 1})
    for (size_t p = 0; p < 4; ++p) x[2][plane * 24 + 20 + p] = 1;
  LayerRun run(layer("pos_neg_weighted: true"), x);
  run.forward();
  run.backward({Array({1, 1, 1, 2}, 1.0)});
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{0, 0}));
  EXPECT_EQ(run.dx(0).values, std::vector<double>(24, 0));
}

TEST(DetectionGroupLoss, RejectsInvalidLabels) {
  expect_rejects_labels(layer(""), example(), 2, {3, -1, 0.5, NAN}, [](LayerRun& there) {
    EXPECT_TRUE(std::isnan(there.y()[0][0]));
    there.backward({Array({1, 1, 1, 2}, 1.0)});
  });
}

TEST(DetectionGroupLoss, ReportsErrors) {
  const std::vector<Shape> x = {{4, 3, 4, 5}, {4, 4, 4, 5}, {4, 6, 4, 5}};
  const std::string field = "detection_group_loss_param.";
  expect_field_error(layer("neg_mining_type: 'all'"), x, field + "neg_mining_type", "'all', but must be random");
  expect_field_error(layer("neg_ranking_type: 'all'"), x, field + "neg_ranking_type", "'all', but must be conf_loss");
  expect_field_error(layer("bbox_loss_type: 'L1'"), x, field + "bbox_loss_type", "'L1', but must be Smooth_L1");
  expect_field_error(layer("bg_multiple: 1001"), x, field + "bg_multiple", "1001");
  expect_field_error(layer("batch_size: 0"), x, field + "batch_size", "0");
  expect_field_error(layer("lambda: inf"), x, field + "lambda", "inf");
  expect_field_error(layer("field_whr: 0"), x, field + "field_whr", "0, but must be 1 or more");
  expect_field_error(layer("field_h: 9"), x, field + "field_h", "it is set 3 times, but field_w 2 times");
  expect_field_error(layer("objectness: true"), x, field + "cls_num", "3, but must be 2 with objectness");
  expect_field_error(layer("cls_num: 1"), x, field + "cls_num", "1, but must be 2 or more");
  expect_field_error(layer(""), {{4, 4, 4, 5}, x[1], x[2]}, "bottom[0]", "N x 3 x H x W");
  expect_field_error(layer(""), {x[0], {4, 5, 4, 5}, x[2]}, "bottom[1]", "4x5x4x5");
  expect_field_error(layer(""), {x[0], x[1], {4, 6, 5, 4}}, "bottom[2]", "4x6x5x4");
  expect_field_error(layer(""), {{3, 3, 4, 5}, {3, 4, 4, 5}, {3, 6, 4, 5}}, "bottom[0]", "N x 2 images");
}

}  // namespace
}  // namespace cortado::harness
