#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "tests/harness/branches.h"
#include "tests/harness/invalid_labels.h"

namespace cortado::harness {
namespace {

const std::string kSizes = "cls_num: 3 field_w: 8 field_h: 4 downsample_rate: 10 ";

std::string layer(const std::string& options, const std::string& rest = "") {
  const auto unless_told = [&options](const std::string& field, const std::string& value) {
    return options.find(field) == std::string::npos ? " " + field + ": " + value : "";
  };
  return "type: 'DetectionLoss' detection_loss_param { " + kSizes + options + unless_told("bb_smooth", "false") +
         unless_told("bg_multiple", "1") + " } " + rest;
}

/// Two images of 4 x 5 positions, with three objects in the first and one in the second.
Arrays example() {
  return {distinct({2, 7, 4, 5}, 1, 0.01),
          branch_labels_of(
              2, 4, 5,
              {{0, 3, 1, 36, 4, 9, 5}, {0, 7, 1, 20, 17, 30, 3}, {0, 11, 2, 12, 25, 6, 1}, {1, 19, 2, 47, 35, 8, 4}})};
}

struct Rule {
  double lambda = 1, multiple = 1;
  bool smooth = false, weighted = false;
  double mean[4] = {0, 0, 0, 0}, deviation[4] = {1, 1, 1, 1};
  double ignored = -1e9;
  std::set<size_t> background = {};  ///< selected, numbered over both images; empty: by bootstrap
};

class Reference {
 public:
  Reference(const Arrays& x, const Rule& rule) : x_(x[0]), labels_(x[1]), rule_(rule) {}

  double label(size_t n, size_t p) const { return labels_[n * 120 + p]; }
  bool object(size_t n, size_t p) const { return label(n, p) > 0 && label(n, p) != rule_.ignored; }
  double score(size_t n, size_t c, size_t p) const { return x_[(n * 7 + c) * 20 + p]; }

  std::set<size_t> bootstrap() const {
    std::set<size_t> chosen;
    for (size_t n = 0; n < 2; ++n)
      for (size_t k = 1; k < 3; ++k) {
        std::vector<std::pair<double, size_t>> found;
        double objects = 0;
        for (size_t p = 0; p < 20; ++p) {
          objects += label(n, p) == double(k) && object(n, p);
          if (label(n, p) == 0 && labels_[n * 120 + 100 + p] < 0.5) found.emplace_back(-score(n, k, p), n * 20 + p);
        }
        std::sort(found.begin(), found.end());
        const size_t wanted = std::max<size_t>(4, size_t(objects * rule_.multiple));
        for (size_t i = 0; i < std::min(wanted, found.size()); ++i) chosen.insert(found[i].second);
      }
    return chosen;
  }

  /// Both values of y.
  std::vector<double> loss() const {
    const std::set<size_t> chosen = rule_.background.empty() ? bootstrap() : rule_.background;
    double objects = 0, classes = 0, boxes = 0;
    for (size_t i = 0; i < 40; ++i) objects += object(i / 20, i % 20);
    const double all = objects + double(chosen.size()), share = 1 / (1 + rule_.multiple);
    const double of_object = rule_.weighted ? share * all / objects : 1;
    const double of_background = rule_.weighted ? (1 - share) * all / double(chosen.size()) : 1;
    for (size_t i = 0; i < 40; ++i) {
      const size_t n = i / 20, p = i % 20;
      if (object(n, p)) classes += of_object * entropy(n, p), boxes += box(n, p);
      if (chosen.contains(i)) classes += of_background * entropy(n, p);
    }
    const double b = rule_.lambda * boxes / (4 * objects);
    return {classes / all + b, b};
  }

 private:
  double entropy(size_t n, size_t p) const {
    double sum = 0;
    for (size_t c = 0; c < 3; ++c) sum += std::exp(score(n, c, p));
    return std::log(sum) - score(n, size_t(label(n, p)), p);
  }

  double box(size_t n, size_t p) const {
    const auto number = [&](size_t i) { return labels_[n * 120 + 20 * (i + 1) + p]; };
    const double g[] = {(number(0) - (double(p % 5) + 0.5) * 10) / 8, (number(1) - (double(p / 5) + 0.5) * 10) / 4,
                        std::log(std::max(number(2), 2.0) / 8), std::log(std::max(number(3), 2.0) / 4)};
    double sum = 0;
    for (size_t i = 0; i < 4; ++i) {
      const double d = std::fabs(score(n, 3 + i, p) - (g[i] - rule_.mean[i]) / rule_.deviation[i]);
      sum += rule_.smooth && d >= 1 ? d - 0.5 : d * d / 2;
    }
    return sum;
  }

  const Array &x_, &labels_;
  const Rule& rule_;
};

/// `x` keeps the numbers of boxes within limits. Small changes do not change the selection, and no gradient flows from
/// the second value.
void check(const std::string& text, const Arrays& x, const Rule& rule) {
  Rule fixed = rule;
  fixed.background = Reference(x, rule).bootstrap();
  const double shown = Reference(x, rule).loss()[1];
  check_layer({.layer = text, .x = x, .reference = [=](const Arrays& changed, const Arrays&) -> Arrays {
                 return {Array({1, 1, 1, 2}, {Reference(changed, fixed).loss()[0], shown})};
               }});
}

const std::string kWide = "field_whr: 100 field_xyr: 0.01 ";  // limits that are never reached

TEST(DetectionLoss, UsesObjectsAndTheHardestBackground) {
  check(layer(kWide + "sample_mode: 'bootstrap'"), example(), {});
  check(layer(kWide + "sample_mode: 'bootstrap' bg_multiple: 4 lambda: 0.25 bb_smooth: true"), example(),
        {.lambda = 0.25, .multiple = 4, .smooth = true});
}

TEST(DetectionLoss, WeighsObjectsAndBackground) {
  check(layer(kWide + "sample_mode: 'bootstrap' bg_multiple: 3 pos_neg_weighted: true"), example(),
        {.multiple = 3, .weighted = true});
}

TEST(DetectionLoss, ComparesNormalizedOffsets) {
  check(layer(kWide + "sample_mode: 'bootstrap'",
              "bbox_reg_param { bbox_mean: 0.1 bbox_mean: 0.2 bbox_mean: 0.3 bbox_mean: 0.4 bbox_std: 0.5 "
              "bbox_std: 2 bbox_std: 0.25 bbox_std: 4 }"),
        example(), {.mean = {0.1, 0.2, 0.3, 0.4}, .deviation = {0.5, 2, 0.25, 4}});
}

TEST(DetectionLoss, SkipsIgnoredAndUnclearPositions) {
  Arrays x = example();
  for (size_t p = 12; p < 19; ++p) x[1][100 + p] = 0.6;
  check(layer(kWide + "sample_mode: 'bootstrap'", "loss_param { ignore_label: 2 }"), x, {.ignored = 2});
}

TEST(DetectionLoss, DrawsBackgroundInEachPass) {
  const Arrays x = example();
  const auto chosen = [&](uint64_t pass, const std::string& mode) {
    LayerRun run(layer(kWide + "sample_mode: '" + mode + "'"), x, {.pass = pass});
    run.forward();
    run.backward({Array({1, 1, 1, 2}, 1.0)});
    std::set<size_t> places;
    for (size_t i = 0; i < 40; ++i)
      if (run.dx(0)[i / 20 * 140 + i % 20] != 0 && x[1][i / 20 * 120 + i % 20] == 0) places.insert(i);
    EXPECT_NEAR(run.y()[0][0], Reference(x, {.background = places}).loss()[0], 1e-5);
    return places;
  };
  const std::set<size_t> first = chosen(0, "random");
  EXPECT_EQ(first, chosen(0, "random"));
  EXPECT_NE(first, chosen(1, "random"));
  EXPECT_GE(first.size(), 8u);
  EXPECT_LE(first.size(), 16u);  // twice eight draws, with repetition, some of them objects
  const Rule half{.multiple = 0.5};
  const std::set<size_t> worst = Reference(x, half).bootstrap(), both = chosen(0, "mixture");
  EXPECT_TRUE(std::includes(both.begin(), both.end(), worst.begin(), worst.end()));
  EXPECT_GT(both.size(), worst.size());
}

TEST(DetectionLoss, GradientBeyondTheLimitsIsThatAtTheLimits) {
  Arrays x = {Array({1, 7, 1, 1}, 0.0), branch_labels_of(1, 1, 1, {{0, 0, 1, 5, 5, 8, 4}})};
  x[0][3] = -5, x[0][5] = 9;
  LayerRun run(layer("field_xyr: 4 sample_mode: 'bootstrap'"), x);
  run.forward();
  const double c = std::log(3), b = (1 / 16. + std::log(2) * std::log(2)) / 2 / 4;
  EXPECT_NEAR(run.y()[0][0], c + b, 1e-6);
  run.backward({Array({1, 1, 1, 2}, {1, 0})});
  EXPECT_NEAR(run.dx(0)[3], -0.25 / 4, 1e-6);
  EXPECT_NEAR(run.dx(0)[5], std::log(2) / 4, 1e-6);
}

TEST(DetectionLoss, AcceptsBatchesWithoutSelectedPositions) {
  Arrays x = {random({1, 7, 2, 2}, 1), branch_labels_of(1, 2, 2, {})};
  for (size_t p = 0; p < 4; ++p) x[1][20 + p] = 1;
  LayerRun run(layer("pos_neg_weighted: true"), x);
  run.forward();
  run.backward({Array({1, 1, 1, 2}, 1.0)});
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{0, 0}));
  EXPECT_EQ(run.dx(0).values, std::vector<double>(28, 0));
}

TEST(DetectionLoss, RejectsInvalidLabels) {
  expect_rejects_labels(layer(""), example(), 1, {3, -1, 0.5, NAN}, [](LayerRun& there) {
    EXPECT_TRUE(std::isnan(there.y()[0][0]));
    there.backward({Array({1, 1, 1, 2}, 1.0)});
  });
}

TEST(DetectionLoss, ReportsErrors) {
  const std::vector<Shape> x = {{2, 7, 4, 5}, {2, 6, 4, 5}};
  const std::string field = "detection_loss_param.";
  expect_field_error(layer("sample_mode: 'all'"), x, field + "sample_mode", "'all', but must be random");
  for (const char* multiple : {"-1", "1001", "nan"})
    expect_field_error(layer(std::string("bg_multiple: ") + multiple), x, field + "bg_multiple", multiple);
  expect_field_error(layer("lambda: inf"), x, field + "lambda", "inf");
  expect_field_error(layer("field_whr: 0"), x, field + "field_whr", "0, but must be 1 or more");
  expect_field_error("type: 'DetectionLoss'", x, field + "field_w", "0, but must be above 0");
  expect_field_error(layer("side: 7"), x, "detection_loss_param", "it has fields of two layers");
  expect_field_error(layer(""), {{2, 8, 4, 5}, x[1]}, "bottom[0]", "N x 7 x H x W");
  expect_field_error(layer(""), {x[0], {2, 6, 5, 4}}, "bottom[1]", "2x6x5x4");
  expect_field_error(layer("", "bbox_reg_param { bbox_mean: 0 }"), x, "bbox_reg_param.bbox_mean", "1 time");
}

// Below: YOLO's layer, with 2 x 2 cells, 2 classes, 2 boxes.
const std::string kGrid =
    "type: 'DetectionLoss' detection_loss_param { side: 2 num_class: 2 num_object: 2 object_scale: 3 "
    "noobject_scale: 0.5 class_scale: 2 coord_scale: 5 ";

/// One image, with an object of class 1 in cell 1, where box 1 is the better one.
Arrays grid(bool within_cell, bool roots) {
  Arrays x = {Array({1, 48}, 0.0), Array({1, 28}, 0.0)};
  const auto set = [&](size_t plane, size_t cell, double value) { x[0][plane * 4 + cell] = value; };
  set(0, 1, 0.5), set(1, 1, 0.75);                // classes
  set(2, 0, 0.5), set(3, 1, 0.25), set(2, 1, 1);  // scores of boxes
  // Box 1 in cell 1: 0.5 x 0.25 at (0.75, 0.25).
  set(8, 1, within_cell ? 0.5 : 0.75), set(9, 1, within_cell ? 0.5 : 0.25);
  set(10, 1, roots ? std::sqrt(0.5) : 0.5), set(11, 1, roots ? 0.5 : 0.25);
  x[1][4 + 1] = 1, x[1][8 + 1] = 1;
  const double object[] = {0.75, 0.25, 0.5, 0.5};
  for (size_t i = 0; i < 4; ++i) x[1][12 + 4 + i] = object[i];
  return x;
}

TEST(DetectionLoss, OfAGridIsTheSumOfFourErrors) {
  for (const bool within_cell : {false, true})
    for (const bool roots : {false, true}) {
      const std::string text =
          kGrid + "constriant: " + (within_cell ? "true" : "false") + " sqrt: " + (roots ? "true" : "false") + " }";
      LayerRun run(text, grid(within_cell, roots));
      run.forward();
      const double height = roots ? 0.5 - std::sqrt(0.5) : -0.25;
      const double classes = 2 * (0.25 + 0.0625), objects = 3 * 0.5625, boxes = 5 * height * height;
      EXPECT_NEAR(run.y()[0][0], classes + objects + boxes + 0.5 * 1.25 / 7, 1e-5) << text;
      run.backward({Array(Shape(), 10.0)});
      const Array dx = run.dx(0);
      const auto at = [&dx](size_t plane, size_t cell) { return dx[plane * 4 + cell]; };
      EXPECT_NEAR(at(0, 1), 10 * 2 * 0.5, 1e-4);
      EXPECT_NEAR(at(1, 1), 10 * 2 * -0.25, 1e-4);
      EXPECT_NEAR(at(2, 0), 10 * 0.5 * 0.5, 1e-4);
      EXPECT_NEAR(at(2, 1), 10 * 0.5, 1e-4);
      EXPECT_NEAR(at(3, 1), 10 * 3 * (0.25 - 0.5), 1e-4);  // the overlap of box and object is 0.5
      EXPECT_NEAR(at(11, 1), 10 * 5 * height, 1e-4);
      EXPECT_NEAR(at(10, 1), 0, 1e-4);
    }
}

TEST(DetectionLoss, OfAGridTakesTheNearestBoxWithoutOverlap) {
  Arrays x = grid(false, false);
  for (size_t i = 0; i < 4; ++i) x[0][(4 + i) * 4 + 1] = 0.1, x[0][(8 + i) * 4 + 1] = i == 0 ? 9 : 0.1;
  LayerRun run(kGrid + "sqrt: false }", x);
  run.forward();
  run.backward({Array(Shape(), 1.0)});
  EXPECT_NEAR(run.dx(0)[4 * 4 + 1], 5 * (0.1 - 0.75), 1e-5);
  EXPECT_EQ(run.dx(0)[8 * 4 + 1], 0);
  EXPECT_NEAR(run.dx(0)[2 * 4 + 1], 3 * 1, 1e-5);
}

TEST(DetectionLoss, OfAGridRejectsInvalidClasses) {
  for (const double label : {2.0, -1.0, double(NAN)}) {
    Arrays x = grid(false, false);
    x[1][9] = label;
    LayerRun run(kGrid + "}", x);
    EXPECT_THROW(run.forward(), Error);
    for (const Device& device : tested_devices()) {
      LayerRun there(kGrid + "}", x, {.device = device});
      there.forward();
      EXPECT_TRUE(std::isnan(there.y()[0][0]));
      there.backward({Array(Shape(), 1.0)});
    }
  }
}

TEST(DetectionLoss, OfAGridReportsErrors) {
  expect_field_error(kGrid + "}", {{1, 47}, {1, 28}}, "bottom[0]", "an image needs 48 values");
  expect_field_error(kGrid + "}", {{1, 48}, {2, 28}}, "bottom[1]", "an image needs 28 values");
  expect_field_error("type: 'DetectionLoss' detection_loss_param { side: 0 }", {{1, 48}, {1, 28}},
                     "detection_loss_param.side", "0");
  expect_field_error("type: 'DetectionLoss' detection_loss_param { side: 2 coord_scale: nan }", {{1, 48}, {1, 28}},
                     "detection_loss_param.coord_scale", "nan");
}

}  // namespace
}  // namespace cortado::harness
