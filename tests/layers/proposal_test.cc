#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "layers/roles.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

Rows rows_of(const Array& array, int64_t count) {
  Rows rows;
  for (int64_t r = 0; r < count; ++r)
    rows.emplace_back(array.values.begin() + r * 5, array.values.begin() + (r + 1) * 5);
  return rows;
}

/// The live regions; the rows after them must be 0.
Rows run(const std::string& options, const Arrays& x, Array* scores = nullptr) {
  LayerRun run("type: 'Proposal' top: 'rois' " + std::string(scores ? "top: 'scores' " : "") + "proposal_param { " +
                   options + " }",
               x);
  run.forward();
  const Shape live = dynamic_cast<DynamicRows&>(run.layer()).current_shapes()[0];
  const Array& y = run.y()[0];
  for (size_t i = size_t(live.count()); i < y.size(); ++i) EXPECT_EQ(y[i], 0);
  if (scores) *scores = run.y()[1];
  return rows_of(y, live[0]);
}

/// Offsets that move all anchors, which have these sides, by `by` pixels right and down.
Array moved_by(double by, const Rows& sides) {
  Array offsets({1, int64_t(4 * sides.size()), 1, 1});
  for (size_t a = 0; a < sides.size(); ++a) offsets[4 * a] = by / sides[a][0], offsets[4 * a + 1] = by / sides[a][1];
  return offsets;
}

Array falling_scores(int64_t anchors) {
  Array scores({1, 2 * anchors, 1, 1}, 100.0);  // those of the background, which are not read
  for (int64_t a = 0; a < anchors; ++a) scores[size_t(anchors + a)] = double(-a);
  return scores;
}

TEST(Proposal, HasFasterRcnnsAnchors) {
  // The result of generate_anchors(16) for ratios 0.5, 1, 2 and scales 8, 16, 32.
  const Rows anchors = {{-84, -40, 99, 55}, {-176, -88, 191, 103},  {-360, -184, 375, 199},
                        {-56, -56, 71, 71}, {-120, -120, 135, 135}, {-248, -248, 263, 263},
                        {-36, -80, 51, 95}, {-80, -168, 95, 183},   {-168, -344, 183, 359}};
  Rows sides, expected;
  for (const Row& a : anchors) {
    sides.push_back({a[2] - a[0] + 1, a[3] - a[1] + 1});
    expected.push_back({0, a[0] + 400, a[1] + 400, a[2] + 401, a[3] + 401});
  }
  const Rows got = run("nms_thresh: 1", {falling_scores(9), moved_by(400, sides), Array({1, 3}, {2000, 2000, 1})});
  ASSERT_EQ(got.size(), expected.size());
  for (size_t r = 0; r < got.size(); ++r)
    for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(got[r][i], expected[r][i], 1e-3) << r << " " << i;
}

/// By the definition, in double; anchors of base_size 8: ratios 1 and 0.5 (11 x 6), scale 2.
struct Reference {
  double min_h, min_w, threshold;
  size_t before, after;

  static Rows anchors() { return {{-4, -4, 16, 16}, {-7, -2, 22, 12}}; }

  Rows image(const Array& scores, const Array& offsets, const Array& info, int64_t n, std::vector<double>& kept) const {
    const int64_t height = scores.shape[2], width = scores.shape[3], places = height * width;
    std::vector<std::pair<double, Row>> found;
    for (int64_t p = 0; p < places; ++p)
      for (int64_t a = 0; a < 2; ++a) {
        const Row anchor = anchors()[size_t(a)];
        const auto offset = [&](int64_t k) { return offsets[size_t((n * 8 + a * 4 + k) * places + p)]; };
        const double cx = anchor[0] + double(p % width) * 4 + anchor[2] * (0.5 + offset(0));
        const double cy = anchor[1] + double(p / width) * 4 + anchor[3] * (0.5 + offset(1));
        const double w = anchor[2] * std::exp(offset(2)), h = anchor[3] * std::exp(offset(3));
        const auto cut = [](double v, double size) { return std::min(std::max(v, 0.0), size - 1); };
        const double image_h = info[size_t(n * 3)], image_w = info[size_t(n * 3 + 1)];
        const Row box = {double(n), cut(cx - w / 2, image_w), cut(cy - h / 2, image_h), cut(cx + w / 2, image_w),
                         cut(cy + h / 2, image_h)};
        if (box[3] - box[1] + 1 < min_w || box[4] - box[2] + 1 < min_h) continue;
        found.emplace_back(scores[size_t((n * 4 + 2 + a) * places + p)], box);
      }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    found.resize(std::min(found.size(), before));
    Rows rows;
    for (const auto& [score, box] : found) {
      const auto overlaps = [&, b = box](const Row& r) { return overlap(r, b) > threshold; };
      if (rows.size() == after || std::any_of(rows.begin(), rows.end(), overlaps)) continue;
      rows.push_back(box);
      kept.push_back(score);
    }
    return rows;
  }

  static double overlap(const Row& a, const Row& b) {
    const auto area = [](double x0, double y0, double x1, double y1) {
      return std::max(0.0, x1 - x0 + 1) * std::max(0.0, y1 - y0 + 1);
    };
    const double common = area(std::max(a[1], b[1]), std::max(a[2], b[2]), std::min(a[3], b[3]), std::min(a[4], b[4]));
    return common / (area(a[1], a[2], a[3], a[4]) + area(b[1], b[2], b[3], b[4]) - common);
  }
};

TEST(Proposal, MatchesTheDefinition) {
  const Arrays x = {distinct({2, 4, 5, 6}, 1), random({2, 8, 5, 6}, 2), Array({2, 3}, {20, 24, 2, 16, 30, 2})};
  const Reference reference{6, 6, 0.4, 40, 9};
  Rows expected;
  std::vector<double> kept;
  for (int64_t n = 0; n < 2; ++n)
    for (Row& row : reference.image(x[0], x[1], x[2], n, kept)) expected.push_back(row);
  Array scores;
  const Rows got =
      run("feat_stride: 4 base_size: 8 min_size: 3 ratio: 1 ratio: 0.5 scale: 2 pre_nms_topn: 40 post_nms_topn: 9 "
          "nms_thresh: 0.4",
          x, &scores);
  ASSERT_EQ(got.size(), expected.size());
  EXPECT_GT(got.size(), 9u);
  for (size_t r = 0; r < got.size(); ++r) {
    for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(got[r][i], expected[r][i], 1e-3) << r << " " << i;
    EXPECT_NEAR(scores[r], kept[r], 1e-6);
  }
}

const std::string kOne = "base_size: 16 ratio: 1 scale: 1 ";

TEST(Proposal, ScalesTheMinimumSideOfEachAxis) {
  // An anchor of 16 x 16 in the corner of the image, of which 17 x 17 pixels are inside.
  const Arrays x = {Array({1, 2, 1, 1}, 1.0), Array({1, 4, 1, 1}, 0.0), Array({1, 4}, {100, 100, 1, 1.05})};
  EXPECT_EQ(run(kOne + "min_size: 16", x), (Rows{{0, 0, 0, 16, 16}}));
  Arrays wide = x;
  wide[2][3] = 1.1;
  EXPECT_EQ(run(kOne + "min_size: 16", wide), Rows());
}

TEST(Proposal, DropsNanAndClipsInfiniteRegions) {
  Arrays x = {Array({1, 2, 1, 2}, 1.0), Array({1, 4, 1, 2}, 0.0), Array({1, 3}, {50, 60, 1})};
  x[1][0] = NAN;
  x[1][5] = x[1][7] = 1e9;
  EXPECT_EQ(run(kOne, x), (Rows{{0, 0, 0, 59, 49}}));
  x[0][3] = NAN;
  EXPECT_EQ(run(kOne, x), Rows());
}

TEST(Proposal, RejectsInvalidImages) {
  for (const double wrong : {0.0, -5.0, double(NAN), double(INFINITY)}) {
    const Arrays x = {Array({1, 2, 1, 1}, 1.0), Array({1, 4, 1, 1}, 0.0), Array({1, 3}, {wrong, 60, 1})};
    LayerRun run("type: 'Proposal' proposal_param { " + kOne + "}", x);
    try {
      run.forward();
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      EXPECT_NE(std::string(error.what()).find("image 0 is 60 wide"), std::string::npos) << error.what();
    }
  }
}

TEST(Proposal, PlansForTheMaximum) {
  const auto rows = [](const std::string& options) {
    return MadeLayer("type: 'Proposal' proposal_param { " + kOne + options + " }", "",
                     {{2, 2, 3, 4}, {2, 4, 3, 4}, {2, 3}})
        .shapes.y[0][0];
  };
  EXPECT_EQ(rows(""), 24);
  EXPECT_EQ(rows("post_nms_topn: 5"), 10);
  EXPECT_EQ(rows("post_nms_topn: 0"), 24);
}

TEST(Proposal, ReportsErrors) {
  const std::string layer = "type: 'Proposal' proposal_param { ";
  const std::vector<Shape> x = {{1, 18, 3, 4}, {1, 36, 3, 4}, {1, 3}};
  expect_field_error(layer + "feat_stride: 0 }", x, "proposal_param.feat_stride", "0");
  expect_field_error(layer + "base_size: 0 }", x, "proposal_param.base_size", "0");
  expect_field_error(layer + "ratio: 1 ratio: 0 }", x, "proposal_param.ratio", "0");
  expect_field_error(layer + "scale: nan }", x, "proposal_param.scale", "nan");
  expect_field_error(layer + "nms_thresh: -1 }", x, "proposal_param.nms_thresh", "-1");
  expect_field_error(layer + "}", {{1, 9, 3, 4}, x[1], x[2]}, "bottom[0]", "N x 18 x H x W");
  expect_field_error(layer + "}", {x[0], {1, 18, 3, 4}, x[2]}, "bottom[1]", "N x 36 x H x W");
  expect_field_error(layer + "}", {x[0], {1, 36, 3, 5}, x[2]}, "bottom[1]", "but bottom[0] has 1x18x3x4");
  expect_field_error(layer + "}", {x[0], x[1], {1, 2}}, "bottom[2]", "there are 1 image");
}

}  // namespace
}  // namespace cortado::harness
