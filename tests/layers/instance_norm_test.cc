#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// By the definition, channel by channel.
Array normalized(const Array& x, double eps, const Arrays& w) {
  Array y(x.shape);
  const size_t channels = size_t(x.shape[1]), size = size_t(x.shape.count(2));
  for (size_t row = 0; row < size_t(x.shape.count(0, 2)); ++row) {
    const auto first = x.values.begin() + long(row * size), end = first + long(size);
    const double mean = std::accumulate(first, end, 0.0) / double(size);
    double variance = 0;
    for (auto v = first; v != end; ++v) variance += (*v - mean) * (*v - mean) / double(size);
    for (size_t i = row * size; i < (row + 1) * size; ++i) {
      const double n = (x[i] - mean) / std::sqrt(variance + eps);
      y[i] = w.empty() ? n : n * w[0][row % channels] + w[1][row % channels];
    }
  }
  return y;
}

LayerCase instance_norm(const std::string& options, const Shape& shape, double eps = 1e-5) {
  return {
      .layer = "type: 'InstanceNorm' instance_norm_param { " + options + " }",
      .x = {random(shape, 1, -1, 3)},
      .reference = [=](const Arrays& x, const Arrays& w) -> Arrays { return {normalized(x[0], eps, w)}; },
      .tolerance = 2e-4,
  };
}

TEST(InstanceNorm, NormalizesEachChannelOfEachSample) { check_layer(instance_norm("", {2, 5, 3, 4})); }
TEST(InstanceNorm, HasFactorsAndTerms) { check_layer(instance_norm("affine: true", {2, 5, 3, 4})); }
TEST(InstanceNorm, AddsEpsToTheVariance) { check_layer(instance_norm("eps: 0.1", {2, 5, 9}, 0.1)); }

TEST(InstanceNorm, HasNoWeightsByDefault) {
  EXPECT_TRUE(MadeLayer("type: 'InstanceNorm'", "", {{2, 6, 4}}).shapes.w.empty());
  const MadeLayer affine("type: 'InstanceNorm' instance_norm_param { affine: true }", "", {{2, 6, 4}});
  EXPECT_EQ(affine.shapes.w.size(), 2u);
}

TEST(InstanceNorm, ReportsErrors) {
  expect_field_error("type: 'InstanceNorm' instance_norm_param { eps: 0 }", {{2, 6, 4}}, "instance_norm_param.eps",
                     "above 0");
  expect_field_error("type: 'InstanceNorm' instance_norm_param { scale_filler { value: 2 } }", {{2, 6, 4}},
                     "instance_norm_param.scale_filler", "without affine");
}

}  // namespace
}  // namespace cortado::harness
