#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// By the definition, group by group.
Array normalized(const Array& x, int64_t groups, double eps, const Arrays& w) {
  Array y(x.shape);
  const int64_t channels = x.shape[1], size = x.shape.count(2), width = channels / groups * size;
  for (int64_t first = 0; first < int64_t(x.size()); first += width) {
    double sum = 0, squares = 0;
    for (int64_t i = first; i < first + width; ++i) sum += x[size_t(i)];
    const double mean = sum / double(width);
    for (int64_t i = first; i < first + width; ++i) squares += std::pow(x[size_t(i)] - mean, 2);
    for (int64_t i = first; i < first + width; ++i) {
      const double n = (x[size_t(i)] - mean) / std::sqrt(squares / double(width) + eps);
      const size_t channel = size_t(i / size % channels);
      y[size_t(i)] = w.empty() ? n : n * w[0][channel] + w[1][channel];
    }
  }
  return y;
}

LayerCase group_norm(const std::string& options, const Shape& shape, int64_t groups, double eps = 1e-5) {
  return {
      .layer = "type: 'GroupNorm' group_norm_param { " + options + " }",
      .x = {random(shape, 1, -1, 3)},
      .reference = [=](const Arrays& x, const Arrays& w) -> Arrays { return {normalized(x[0], groups, eps, w)}; },
      .tolerance = 2e-4,
  };
}

TEST(GroupNorm, NormalizesGroupsOfChannels) { check_layer(group_norm("group: 3", {2, 6, 3, 4}, 3)); }
TEST(GroupNorm, NormalizesWholeSamples) { check_layer(group_norm("group: 1", {3, 4, 5}, 1)); }
TEST(GroupNorm, HasThirtyTwoGroups) { check_layer(group_norm("", {2, 64, 3}, 32)); }
TEST(GroupNorm, HasAnotherNameForGroup) { check_layer(group_norm("group_num: 3", {2, 6, 3}, 3)); }
TEST(GroupNorm, TakesMatrices) { check_layer(group_norm("group: 2", {3, 8}, 2)); }
TEST(GroupNorm, TakesVolumes) { check_layer(group_norm("group: 2", {2, 4, 3, 2, 2}, 2)); }
TEST(GroupNorm, NormalizesOnly) { check_layer(group_norm("group: 2 affine: false", {2, 4, 3, 2}, 2)); }
TEST(GroupNorm, AddsEpsToTheVariance) { check_layer(group_norm("group: 2 eps: 0.5", {2, 4, 3, 2}, 2, 0.5)); }

TEST(GroupNorm, IsTheIdentityAtFirst) {
  const MadeLayer made("type: 'GroupNorm' group_norm_param { group: 2 }", "", {{2, 6, 4}});
  ASSERT_EQ(made.shapes.w.size(), 2u);
  EXPECT_EQ(made.shapes.w[0].shape, Shape{6});
  EXPECT_EQ(made.shapes.w[0].filler.value(), 1);
  EXPECT_EQ(made.shapes.w[1].filler.value(), 0);
}

TEST(GroupNorm, ReportsErrors) {
  const auto expect = [](const std::string& options, const std::string& field, const std::string& words,
                         const Shape& x = {2, 6, 3}) {
    expect_field_error("type: 'GroupNorm' group_norm_param { " + options + " }", {x}, field, words);
  };
  expect("group: 0", "group_norm_param.group", "it is 0");
  expect("group_num: 0", "group_norm_param.group_num", "it is 0");
  expect("group: 2 group_num: 2", "group_norm_param.group_num", "group is set, too");
  expect("group: 4", "group_norm_param.group", "6 channels cannot be split into 4 groups");
  expect("", "group_norm_param.group", "32 groups");
  expect("group: 2 eps: -1", "group_norm_param.eps", "above 0");
  expect("group: 2 affine: false bias_filler { value: 1 }", "group_norm_param.bias_filler", "without affine");
  expect("group: 2", "bottom[0]", "1 axis", {6});
}

}  // namespace
}  // namespace cortado::harness
