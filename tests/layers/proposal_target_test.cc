#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/error.h"
#include "layers/roles.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

using Rows = std::vector<std::vector<double>>;

const std::string kTops = "top: 'a' top: 'b' top: 'c' top: 'd' top: 'e' top: 'f' top: 'g' ";

std::string layer(const std::string& options, const std::string& rest = "") {
  return "type: 'ProposalTarget' " + kTops + "proposal_target_param { cls_num: 3 num_img_per_batch: 2 img_width: 90 " +
         "img_height: 80 " + options + " } " + rest;
}

Array matrix(const Rows& rows, int64_t width) {
  Array array({int64_t(rows.size()), width});
  for (size_t r = 0; r < rows.size(); ++r)
    std::copy(rows[r].begin(), rows[r].end(), array.values.begin() + int64_t(r) * width);
  return array;
}

/// The live rows of each top; the rows after them must be 0.
std::vector<Rows> run(const std::string& text, const Rows& regions, const Rows& objects, uint64_t pass = 0) {
  const int64_t numbers = objects.empty() ? 7 : int64_t(objects[0].size());
  LayerRun run(text, {matrix(regions, 5), matrix(objects, numbers)}, {.pass = pass});
  run.forward();
  std::vector<Rows> tops;
  const std::vector<Shape> shapes = dynamic_cast<DynamicRows&>(run.layer()).current_shapes();
  for (size_t k = 0; k < shapes.size(); ++k) {
    const std::vector<double>& values = run.y()[k].values;
    const int64_t width = shapes[k].count(1);
    for (size_t i = size_t(shapes[k].count()); i < values.size(); ++i) EXPECT_EQ(values[i], 0);
    tops.emplace_back();
    for (int64_t r = 0; r < shapes[k][0]; ++r)
      tops.back().emplace_back(values.begin() + r * width, values.begin() + (r + 1) * width);
  }
  return tops;
}

// In image 0: one that overlaps the object by 9 / 11, one by a third, one not at all. In image 1: one that overlaps an
// ignored object, and one that overlaps the object of image 0.
const Rows kRegions = {
    {0, 11, 20, 20, 39}, {0, 15, 20, 24, 39}, {0, 60, 60, 69, 69}, {1, 10, 20, 19, 39}, {1, 10, 60, 19, 69}};
const Rows kObjects = {{0, 10, 20, 19, 39, 2, 0}, {1, 10, 20, 19, 40, 1, 1}, {0, 1, 2, 3, 4, 0, 0}};

TEST(ProposalTarget, TakesAllForegroundAndAllGoodBackground) {
  const std::vector<Rows> y = run(layer("batch_size: -1 bg_thr_lw: 0.1"), kRegions, kObjects);
  EXPECT_EQ(y[0], (Rows{kRegions[0], {0, 10, 20, 19, 39}, kRegions[1]}));
  EXPECT_EQ(y[1], (Rows{{2}, {2}, {0}}));
  const Rows weights = {
      {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}, Rows::value_type(12)};
  EXPECT_EQ(y[3], weights);
  EXPECT_EQ(y[4], weights);
  EXPECT_NEAR(y[2][0][8], -0.1, 1e-6);
  for (size_t i = 0; i < 12; ++i)
    if (i != 8) {
      EXPECT_EQ(y[2][0][i], 0);
    }
  EXPECT_EQ(y[5][1], (std::vector<double>{2, 10, 20, 19, 39, 1}));
  EXPECT_NEAR(y[5][0][5], 9 / 11., 1e-6);
  EXPECT_EQ(y[5][2], std::vector<double>(6));
  // Objects have a quarter of the total weight, the background the rest.
  EXPECT_EQ(y[6], (Rows{{0.375}, {0.375}, {2.25}}));
}

/// kObjects in Cascade R-CNN's rows.
const Rows kLongObjects = {
    {0, 10, 20, 19, 39, 2, 0, 1}, {1, 10, 20, 19, 40, 1, 1, 0}, {-1, -1, -1, -1, -1, -1, -1, -1}};

TEST(ProposalTarget, ReadsRowsOfCascadeRcnn) {
  const std::string options = "batch_size: -1 bg_thr_lw: 0.1";
  EXPECT_EQ(run(layer(options), kRegions, kLongObjects), run(layer(options), kRegions, kObjects));
  LayerRun shaped(layer(options), {matrix(kRegions, 5), matrix(kLongObjects, 8)});
  EXPECT_EQ(shaped.made().shapes.y[1], (Shape{8, 1, 1, 1}));
}

TEST(ProposalTarget, DrawsOneRegionOfCascadeRcnnOnlyIfThereIsNone) {
  const std::vector<Rows> some = run(layer("batch_size: 9 bg_thr_lw: 0"), kRegions, kLongObjects);
  EXPECT_EQ(some[0].size(), 5u);
  for (const char* size : {"9", "-1"}) {
    const std::vector<Rows> one = run(layer(std::string("fg_thr: 0.5 append_gtbox: false batch_size: ") + size),
                                      {{1, 10, 20, 19, 40}}, kLongObjects);
    ASSERT_EQ(one[0].size(), 1u) << "the region of an ignored object is left out";
    EXPECT_EQ(one[1][0][0], 0);
  }
}

TEST(ProposalTarget, LeavesOutObjectsAndPoorBackground) {
  EXPECT_EQ(run(layer("batch_size: -1 bg_thr_lw: 0.1 append_gtbox: false"), kRegions, kObjects)[0],
            (Rows{kRegions[0], kRegions[1]}));
  const std::string options = "batch_size: 9 bg_thr_lw: 0.1 append_gtbox: false ";
  EXPECT_EQ(run(layer(options), kRegions, kLongObjects)[0].size(), 4u);
  EXPECT_EQ(run(layer(options + "pickup_discard: false"), kRegions, kLongObjects)[0].size(), 2u);
}

TEST(ProposalTarget, LimitsTheOverlapsOfTheBoxLoss) {
  const Rows none(1, Rows::value_type(12));
  const Rows all = {{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}};
  const auto weights = [](const std::string& options) {
    return run(layer("batch_size: -1 bg_thr_lw: 0.4 append_gtbox: false " + options), {kRegions[0]}, kObjects)[3];
  };
  EXPECT_EQ(weights("bbox_thr_lw: 0.8 bbox_thr_hg: 0.9"), all);
  EXPECT_EQ(weights("bbox_thr_lw: 0.85"), none);
  EXPECT_EQ(weights("bbox_thr_hg: 0.8"), none);
}

TEST(ProposalTarget, WeighsClassesByOverlaps) {
  const std::vector<Rows> y = run(layer("batch_size: -1 bg_thr_lw: 0.1 iou_weighted: true"), kRegions, kObjects);
  const double all = 9 / 11. + 1;
  EXPECT_NEAR(y[6][0][0], 0.75 * (9 / 11.) / all, 1e-6);
  EXPECT_NEAR(y[6][1][0], 0.75 / all, 1e-6);
  EXPECT_NEAR(y[6][2][0], 2.25, 1e-6);
}

TEST(ProposalTarget, NormalizesOffsetsAndSupportsClassAgnosticTargets) {
  const std::vector<Rows> y =
      run(layer("batch_size: -1 bg_thr_lw: 0.1",
                "bbox_reg_param { cls_aware: false bbox_mean: 0.1 bbox_mean: 0 bbox_mean: 0 bbox_mean: 0.2 "
                "bbox_std: 0.5 bbox_std: 1 bbox_std: 0.25 bbox_std: 1 }"),
          {{0, 20, 20, 24, 39}, {0, 10, 20, 17, 39}}, {{0, 10, 20, 19, 39, 2, 0}});
  ASSERT_EQ(y[0].size(), 2u);
  ASSERT_EQ(y[2][0].size(), 8u);
  // 8 wide from 10 on; the object is 10 wide, so its centre lies 1 / 8 further.
  const std::vector<double> expected = {0, 0, 0, 0, (0.125 - 0.1) / 0.5, 0, std::log(1.25) / 0.25, -0.2};
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(y[2][0][i], expected[i], 1e-5) << i;
  EXPECT_EQ(y[3][0], (std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(ProposalTarget, FillsABatch) {
  const std::vector<Rows> y = run(layer("batch_size: 8 bg_thr_lw: 0.1"), kRegions, kObjects);
  ASSERT_EQ(y[0].size(), 8u);
  // Two with objects, the good background, the poor one of image 0 and that of image 1, then three random ones.
  EXPECT_EQ(Rows(y[0].begin(), y[0].begin() + 5),
            (Rows{kRegions[0], {0, 10, 20, 19, 39}, kRegions[1], kRegions[2], kRegions[4]}));
  EXPECT_EQ(y[1], (Rows{{2}, {2}, {0}, {0}, {0}, {0}, {0}, {0}}));
  for (size_t r = 5; r < 8; ++r) {
    const std::vector<double>& box = y[0][r];
    EXPECT_TRUE(box[0] == 0 || box[0] == 1);
    EXPECT_TRUE(box[1] >= 0 && box[2] >= 0 && box[3] - box[1] >= 31 && box[4] - box[2] >= 31);
    EXPECT_LT(box[1], 58);
    EXPECT_LT(box[2], 48);
  }
}

TEST(ProposalTarget, DrawsIfThereAreTooMany) {
  Rows regions;
  for (int i = 0; i < 20; ++i) regions.push_back({0, 10, 20, 19 + i * 0.1, 39});  // all match the object
  for (int i = 0; i < 20; ++i) regions.push_back({0, 15 + i * 0.1, 20, 24, 39});  // good background
  std::set<Rows> batches;
  for (uint64_t pass = 0; pass < 4; ++pass) {
    const std::vector<Rows> y = run(layer("batch_size: 8 bg_thr_lw: 0.1"), regions, kObjects, pass);
    EXPECT_EQ(y[1], (Rows{{2}, {2}, {0}, {0}, {0}, {0}, {0}, {0}}));
    EXPECT_EQ(std::set<std::vector<double>>(y[0].begin(), y[0].end()).size(), 8u);
    EXPECT_EQ(y, run(layer("batch_size: 8 bg_thr_lw: 0.1"), regions, kObjects, pass));
    batches.insert(y[0]);
  }
  EXPECT_EQ(batches.size(), 4u);
}

TEST(ProposalTarget, HasFewerRowsIfObjectsLeaveNoSpace) {
  const std::vector<Rows> y = run(layer("batch_size: 4 fg_thr: 0.001 bg_thr_hg: 0.001"), {},
                                  {{0, 0, 0, 89, 79, 1, 0}, {1, 0, 0, 89, 79, 1, 0}});
  EXPECT_EQ(y[1], (Rows{{1}}));
  EXPECT_EQ(run(layer("batch_size: -1"), {}, {})[0], Rows());
}

TEST(ProposalTarget, RejectsInvalidRows) {
  const auto message = [](const Rows& regions, const Rows& objects) {
    try {
      run(layer("batch_size: 4"), regions, objects);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message({{2, 0, 0, 9, 9}}, {}).find("region 0 is of image 2"), std::string::npos);
  EXPECT_NE(message({{NAN, 0, 0, 9, 9}}, {}).find("region 0 is of image"), std::string::npos);
  EXPECT_NE(message({}, {{0, 0, 0, 9, 9, 3, 0}}).find("class 3"), std::string::npos);
  EXPECT_NE(message({}, {{-2, 0, 0, 9, 9, 1, 0}}).find("image -2"), std::string::npos);
  EXPECT_EQ(message({{0, NAN, 0, 9, 9}}, {{0, 0, 0, 9, 9, 0, 0}}), "");
}

TEST(ProposalTarget, ReportsErrors) {
  const std::vector<Shape> x = {{5, 5}, {3, 7}};
  const std::string field = "proposal_target_param.";
  expect_field_error(layer("batch_size: 0"), x, field + "batch_size", "0");
  expect_field_error(layer("batch_size: -2"), x, field + "batch_size", "-2");
  expect_field_error(layer("batch_size: 2147483647"), x, field + "batch_size", "2147483647");
  expect_field_error(layer("batch_size: 8 fg_fraction: 1.5"), x, field + "fg_fraction", "1.5");
  expect_field_error(layer("batch_size: 8 fg_thr: 0"), x, field + "fg_thr", "above 0");
  expect_field_error(layer("batch_size: 8 bg_thr_hg: 0.6"), x, field + "bg_thr_hg", "0.6, but fg_thr is 0.5");
  const std::string bare = "type: 'ProposalTarget' " + kTops + "proposal_target_param { batch_size: 8 ";
  expect_field_error(bare + "cls_num: 1 }", x, field + "cls_num", "1, but must be at least 2");
  expect_field_error(bare + "cls_num: 3 img_width: 32 img_height: 90 }", x, field + "img_width",
                     "32, but must be above");
  expect_field_error(bare + "cls_num: 3 num_img_per_batch: 0 }", x, field + "num_img_per_batch", "0");
  expect_field_error(layer("batch_size: 8"), {{5, 4}, x[1]}, "bottom[0]", "5x4, but must be N x 5");
  expect_field_error(layer("batch_size: 8"), {x[0], {3, 6}}, "bottom[1]", "3x6, but must be N x 7");
}

}  // namespace
}  // namespace cortado::harness
