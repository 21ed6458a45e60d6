#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Four priors: three that overlap in the upper left, one in the lower right.
const Array kPriors({1, 2, 16}, {0.125, 0.125, 0.375, 0.375, 0.125, 0.125, 0.375, 0.4375, 0.25, 0.125, 0.5,
                                 0.375, 0.5,   0.5,   1.0,   1.0,   0.5,   0.5,   0.5,    0.5,  0.5,   0.5,
                                 0.5,   0.5,   0.5,   0.5,   0.5,   0.5,   0.5,   0.5,    0.5,  0.5});

/// Background and two classes.
const std::string kParam = "num_classes: 3 nms_param { nms_threshold: 0.5 } confidence_threshold: 0.25 keep_top_k: 4 ";

LayerCase detection_output(const std::string& options, const Arrays& x, int64_t rows, std::vector<double> values) {
  values.resize(size_t(rows * 7));
  const Array y({1, 1, rows, 7}, values);
  return {.layer = "type: 'DetectionOutput' detection_output_param { " + options + " }",
          .x = x,
          .reference = [y](const Arrays&, const Arrays&) -> Arrays { return {y}; }};
}

Array no_offsets(int64_t images) { return Array({images, 16}, 0); }

TEST(DetectionOutput, KeepsTheBestOfBoxesThatOverlap) {
  const Array scores({1, 12}, {0.1, 0.5, 0.4, 0.1, 0.75, 0.1, 0.1, 0.3, 0.1, 0.2, 0.2, 0.6});
  check_layer(detection_output(kParam, {no_offsets(1), scores, kPriors}, 4,
                               {0, 1, 0.75, 0.125, 0.125, 0.375, 0.4375,  // the second prior; it covers the first
                                0, 1, 0.3f, 0.25,  0.125, 0.5,   0.375,   // a third of it is common
                                0, 2, 0.6f, 0.5,   0.5,   1,     1,       //
                                0, 2, 0.4f, 0.125, 0.125, 0.375, 0.375}));
}

/// The rows of two images, one class, from the definition: rectangles are suppressed, corners follow.
Arrays rows_with_corners(const Arrays& x, double threshold) {
  const int64_t priors = 4, width = 15;
  Array y({1, 1, 8, width}, 0);
  size_t to = 0;
  for (int64_t image = 0; image < 2; ++image) {
    std::vector<std::array<double, 15>> found;
    for (int64_t p = 0; p < priors; ++p) {
      const double* prior = &x[2].values[size_t(4 * p)];
      const double* variance = &x[2].values[size_t(4 * (priors + p))];
      const double* offsets = &x[0].values[size_t((image * priors + p) * 12)];
      const double w = prior[2] - prior[0], h = prior[3] - prior[1];
      const double cx = prior[0] + w / 2 + variance[0] * offsets[0] * w,
                   cy = prior[1] + h / 2 + variance[1] * offsets[1] * h;
      const double half_w = w * std::exp(variance[2] * offsets[2]) / 2,
                   half_h = h * std::exp(variance[3] * offsets[3]) / 2;
      std::array<double, 15> row = {double(image), 1,           x[1][size_t((image * priors + p) * 2 + 1)],
                                    cx - half_w,   cy - half_h, cx + half_w,
                                    cy + half_h};
      const double corners[] = {prior[0], prior[1], prior[2], prior[1], prior[2], prior[3], prior[0], prior[3]};
      for (size_t k = 0; k < 8; ++k)
        row[7 + k] = corners[k] + (k % 2 ? variance[1] * h : variance[0] * w) * offsets[4 + k];
      found.push_back(row);
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a[2] > b[2]; });
    std::vector<std::array<double, 15>> kept;
    for (const auto& row : found) {
      bool stays = true;
      for (const auto& better : kept) {
        const double across = std::min(row[5], better[5]) - std::max(row[3], better[3]),
                     down = std::min(row[6], better[6]) - std::max(row[4], better[4]);
        const double both = across > 0 && down > 0 ? across * down : 0;
        const double all = (row[5] - row[3]) * (row[6] - row[4]) + (better[5] - better[3]) * (better[6] - better[4]);
        stays = stays && both <= threshold * (all - both);
      }
      if (stays) kept.push_back(row);
    }
    for (const auto& row : kept)
      for (const double v : row) y[to++] = v;
  }
  return {y};
}

TEST(DetectionOutput, HasFourCornersOnRequest) {
  Array offsets = random({2, 48}, 3), scores({2, 8}, {0.1, 0.9, 0.1, 0.8, 0.1, 0.5, 0.1, 0.6,  //
                                                      0.1, 0.3, 0.1, 0.7, 0.1, 0.4, 0.1, 0.2});
  check_layer({.layer =
                   "type: 'DetectionOutput' detection_output_param { num_classes: 2 nms_param { nms_threshold: 0.45 } "
                   "code_type: CENTER_SIZE keep_top_k: 4 use_polygon: true }",
               .x = {offsets, scores, kPriors},
               .reference = [](const Arrays& x, const Arrays&) { return rows_with_corners(x, 0.45); }});
  Array none({1, 1, 2, 15}, -1);
  none[0] = 0, none[15] = 1;
  check_layer({.layer = "type: 'DetectionOutput' detection_output_param { num_classes: 2 code_type: CENTER_SIZE "
                        "keep_top_k: 1 confidence_threshold: 0.95 use_polygon: true }",
               .x = {offsets, scores, kPriors},
               .reference = [none](const Arrays&, const Arrays&) -> Arrays { return {none}; }});
}

TEST(DetectionOutput, KeepsTheTopOfAllClasses) {
  const Array scores({1, 12}, {0.1, 0.5, 0.4, 0.1, 0.75, 0.1, 0.1, 0.3, 0.1, 0.2, 0.2, 0.6});
  check_layer(detection_output("num_classes: 3 nms_param { nms_threshold: 0.5 } keep_top_k: 2",
                               {no_offsets(1), scores, kPriors}, 2,
                               {0, 1, 0.75, 0.125, 0.125, 0.375, 0.4375, 0, 2, 0.6f, 0.5, 0.5, 1, 1}));
  check_layer(detection_output("num_classes: 3 nms_param { nms_threshold: 1 top_k: 1 } keep_top_k: 4",
                               {no_offsets(1), scores, kPriors}, 4,
                               {0, 1, 0.75, 0.125, 0.125, 0.375, 0.4375, 0, 2, 0.6f, 0.5, 0.5, 1, 1}));
}

TEST(DetectionOutput, MovesPriorsByOffsets) {
  Array scores({1, 12}, 0);
  scores[10] = 0.9;  // the fourth prior, class 1
  Array offsets = no_offsets(1);
  const double moves[] = {0.5, -0.25, std::log(4.0), -2 * std::log(2.0)};
  std::copy(moves, moves + 4, &offsets.values[12]);
  const auto row = [&](const std::string& options, const std::vector<double>& box) {
    std::vector<double> values = {0, 1, 0.9f};
    values.insert(values.end(), box.begin(), box.end());
    check_layer(detection_output(kParam + options, {offsets, scores, kPriors}, 4, values));
  };
  // Centre (0.75, 0.75) moves by half its variance of the side, 0.5; log sides are halved, too.
  row("code_type: CENTER_SIZE", {0.875 - 0.5, 0.6875 - 0.125, 0.875 + 0.5, 0.6875 + 0.125});
  row("code_type: CENTER_SIZE clip: true", {0.375, 0.5625, 1, 0.8125});
  row("code_type: CENTER_SIZE variance_encoded_in_target: true",
      {1.0 - 1.0, 0.625 - 0.0625, 1.0 + 1.0, 0.625 + 0.0625});
  row("code_type: CORNER", {0.75, 0.375, 1 + std::log(2.0), 1 - std::log(2.0)});
  row("code_type: CORNER_SIZE", {0.625, 0.4375, 1 + std::log(2.0) / 2, 1 - std::log(2.0) / 2});
}

TEST(DetectionOutput, ProcessesImagesSeparately) {
  Array scores({2, 12}, 0);
  scores[1] = 0.5;
  scores[12 + 11] = 0.75;
  check_layer(detection_output(kParam, {no_offsets(2), scores, kPriors}, 8,
                               {0, 1, 0.5, 0.125, 0.125, 0.375, 0.375, 1, 2, 0.75, 0.5, 0.5, 1, 1}));
}

TEST(DetectionOutput, HasOneRowPerImageWithoutDetections) {
  check_layer(detection_output(kParam, {no_offsets(2), Array({2, 12}, 0), kPriors}, 8,
                               {0, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1}));
}

TEST(DetectionOutput, SupportsABoxForEachClass) {
  Array scores({1, 12}, 0);
  scores[1] = scores[2] = 0.5;
  Array offsets({1, 48}, 0);
  offsets[2 * 4] = 0.25;  // class 2 of the first prior
  check_layer(detection_output(kParam + "share_location: false", {offsets, scores, kPriors}, 4,
                               {0, 1, 0.5, 0.125, 0.125, 0.375, 0.375, 0, 2, 0.5, 0.25, 0.125, 0.375, 0.375}));
}

TEST(DetectionOutput, SupportsRefineDet) {
  Array scores({1, 12}, 0), objectness({1, 8}, 0.5), moves = no_offsets(1);
  scores[1] = scores[11] = 0.5;
  objectness[1] = 0.001;  // the first prior is background
  moves[12] = 0.25;
  check_layer(
      detection_output(kParam, {no_offsets(1), scores, kPriors, objectness, moves}, 4, {0, 2, 0.5, 0.625, 0.5, 1, 1}));
}

TEST(DetectionOutput, AcceptsAnyValues) {
  Array scores({1, 12}, std::nan(""));
  scores[1] = 0.5;
  Array offsets({1, 16}, std::nan(""));
  LayerRun run("type: 'DetectionOutput' detection_output_param { " + kParam + " }", {offsets, scores, kPriors},
               {.backward = false});
  run.forward();
  EXPECT_EQ(run.y()[0][1], 1);
  EXPECT_TRUE(std::isnan(run.y()[0][3]));
  EXPECT_EQ(run.y()[0][7], 0);
}

TEST(DetectionOutput, ReportsErrors) {
  const auto wrong = [](const std::string& options, const std::vector<Shape>& x, const std::string& field,
                        const std::string& words) {
    expect_field_error("type: 'DetectionOutput' detection_output_param { " + options + " }", x, field, words);
  };
  const Shape priors{1, 2, 16};
  const std::string param = "detection_output_param.";
  wrong("", {{1, 16}, {1, 12}, priors}, param + "num_classes", "it is not set");
  wrong("num_classes: 3", {{1, 12}, {1, 12}, priors}, "bottom[0]", "1 images need 16 numbers each");
  wrong("num_classes: 3", {{2, 16}, {1, 12}, priors}, "bottom[1]", "2 images need 12 numbers each");
  wrong("num_classes: 3", {{1, 16}, {1, 12}, {1, 16}}, "bottom[2]", "priors have 1 x 2 x");
  wrong("num_classes: 3 share_location: false", {{1, 16}, {1, 12}, priors}, "bottom[0]", "48 numbers");
  wrong("num_classes: 3 nms_param { eta: 0 }", {{1, 16}, {1, 12}, priors}, param + "nms_param.eta", "it is 0");
  wrong("num_classes: 3 nms_param { soft_nms: true }", {{1, 16}, {1, 12}, priors}, param + "nms_param.soft_nms",
        "soft suppression");
  wrong("num_classes: 3", {{1, 16}, {1, 12}, priors, {1, 8}}, "bottom[3]", "four bottoms");
}

}  // namespace
}  // namespace cortado::harness
