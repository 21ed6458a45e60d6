#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "tests/harness/invalid_labels.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::string layer(const std::string& options, const std::string& tops = "") {
  return "type: 'GeneralContrastiveLoss' " + tops + " general_contrastive_loss_param { " + options + " }";
}

Arrays example() { return {random({4, 5}, 1, 0, 2), random_labels({4}, 2, 5)}; }

/// The sums of the labels' terms and of the others.
std::pair<double, double> sums(const Arrays& x, double from, double below, double most) {
  std::pair<double, double> found;
  for (size_t i = 0; i < x[0].size(); ++i) {
    if (double(i % 5) == x[1][i / 5])
      found.first += std::min(std::max(x[0][i] - from, 0.0), most);
    else
      found.second += std::max(below - x[0][i], 0.0);
  }
  return found;
}

TEST(GeneralContrastiveLoss, PullsLabelsAndPushesOthers) {
  const auto check = [](const std::string& options, double from, double below, double positive, double negative,
                        double most) {
    check_layer({.layer = layer(options), .x = example(), .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
                   const auto [own, others] = sums(x, from, below, most);
                   return {Array(Shape(), (positive * own + negative * others) / 4)};
                 }});
  };
  check("", 0, 1, 1, 1, INFINITY);
  check("positive_margin: 0.25 negative_margin: 1.5 positive_weight: 2 negative_weight: 0.5", 0.25, 1.5, 2, 0.5,
        INFINITY);
  check("positive_outlier_thresh: 0.75", 0, 1, 1, 1, 0.75);
}

TEST(GeneralContrastiveLoss, ShowsMeanDistances) {
  const Arrays x = example();
  LayerRun run(layer("negative_weight: 3", "top: 'loss' top: 'means'"), x);
  run.forward();
  const auto [own, others] = sums(x, 0, 1, INFINITY);
  EXPECT_NEAR(run.y()[1][0], own / 4, 1e-6);
  EXPECT_NEAR(run.y()[1][1], others / 16, 1e-6);
  run.backward({Array(Shape(), 1.0), Array({2}, 100.0)});
  for (size_t i = 0; i < 20; ++i) EXPECT_LE(std::fabs(run.dx(0)[i]), 3 / 4.) << "the means pass no gradient";
}

TEST(GeneralContrastiveLoss, RejectsInvalidLabels) {
  expect_rejects_labels(layer(""), example(), 1, {5, -1, 0.5, NAN},
                        [](LayerRun& there) { EXPECT_TRUE(std::isnan(there.y()[0][0])); });
}

TEST(GeneralContrastiveLoss, ReportsErrors) {
  const std::vector<Shape> x = {{4, 5}, {4}};
  const std::string field = "general_contrastive_loss_param.";
  for (const char* name : {"max_negative_only", "max_positive_only", "exp_negative_weight", "square", "add_intra_mae"})
    expect_field_error(layer(std::string(name) + ": true"), x, field + name, "true is not supported");
  expect_field_error(layer("negative_margin: nan"), x, field + "negative_margin", "nan");
  expect_field_error(layer("positive_outlier_thresh: -1"), x, field + "positive_outlier_thresh", "-1");
  expect_field_error(layer(""), {{4, 5}, {3}}, "bottom[1]", "3");
}

}  // namespace
}  // namespace cortado::harness
