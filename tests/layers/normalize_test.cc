#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Every element computes the norm of its set again.
Array normalized(const Array& x, bool whole, bool shared, double eps, const Array& scale) {
  Array y(x.shape);
  const int64_t channels = x.shape[1], places = x.shape.count(2);
  for (int64_t n = 0; n < x.shape[0]; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < places; ++p) {
        double squares = eps;
        for (int64_t c2 = 0; c2 < channels; ++c2)
          for (int64_t p2 = whole ? 0 : p; p2 < (whole ? places : p + 1); ++p2)
            squares += std::pow(x[size_t((n * channels + c2) * places + p2)], 2);
        const size_t i = size_t((n * channels + c) * places + p);
        y[i] = x[i] / std::sqrt(squares) * scale[shared ? 0 : size_t(c)];
      }
  return y;
}

LayerCase normalize(const std::string& options, bool whole, bool shared, const Shape& shape = {2, 5, 3, 4},
                    double eps = 1e-10) {
  return {
      .layer = "type: 'Normalize' norm_param { " + options + " }",
      .x = {random(shape, 1)},
      .reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
        return {normalized(x[0], whole, shared, eps, w[0])};
      },
      .tolerance = 2e-4,
  };
}

TEST(Normalize, NormalizesWholeSamplesByDefault) { check_layer(normalize("", true, true)); }
TEST(Normalize, NormalizesTheChannelsOfEachPosition) {
  check_layer(normalize("across_spatial: false channel_shared: false", false, false));
  check_layer(normalize("across_spatial: false", false, true));
}
TEST(Normalize, ScalesEachChannelOfWholeSamples) { check_layer(normalize("channel_shared: false", true, false)); }
TEST(Normalize, AddsEpsUnderTheRoot) {
  check_layer(normalize("eps: 0.5", true, true, {2, 5, 3, 4}, 0.5));
  check_layer(normalize("across_spatial: false eps: 0.5", false, true, {2, 5, 3, 4}, 0.5));
}
TEST(Normalize, TakesMatrices) {
  check_layer(normalize("across_spatial: false channel_shared: false", false, false, {3, 7}));
}
TEST(Normalize, TakesVolumes) { check_layer(normalize("across_spatial: false", false, true, {2, 3, 2, 2, 3})); }

TEST(Normalize, DividesByTheNormOfChannelsWithoutAScale) {
  for (const bool absolute : {false, true})
    check_layer({.layer = std::string("type: 'Normalize' normalize_param { normalize_type: '") +
                          (absolute ? "L1" : "L2") + "' }",
                 .x = {keep_away(random({2, 5, 3, 4}, 1), 0)},
                 .reference = [absolute](const Arrays& x, const Arrays&) -> Arrays {
                   if (!absolute) return {normalized(x[0], false, true, 0, Array({1}, 1.0))};
                   Array y = x[0];
                   for (size_t i = 0; i < y.size(); ++i) {
                     double sum = 0;
                     for (size_t c = 0; c < 5; ++c) sum += std::fabs(x[0][i / 60 * 60 + c * 12 + i % 12]);
                     y[i] /= sum;
                   }
                   return {y};
                 },
                 .tolerance = 2e-4});
  const MadeLayer made("type: 'Normalize'", "", {{2, 3}});
  EXPECT_TRUE(made.shapes.w.empty());
}

TEST(Normalize, ReportsErrorsOfTheNorm) {
  const std::string layer = "type: 'Normalize' normalize_param { ";
  expect_field_error(layer + "normalize_type: 'L3' }", {{2, 5}}, "normalize_param.normalize_type", "'L3'");
  expect_field_error(layer + "fix_gradient: true }", {{2, 5}}, "normalize_param.fix_gradient", "not supported");
  expect_field_error(layer + "} norm_param { }", {{2, 5}}, "normalize_param", "norm_param is set as well");
}

TEST(Normalize, StartsAtOneOrWithItsFiller) {
  const MadeLayer one("type: 'Normalize' norm_param { }", "", {{2, 3, 4, 4}});
  EXPECT_EQ(one.shapes.w[0].shape, Shape());
  EXPECT_EQ(one.shapes.w[0].filler.value(), 1);
  const MadeLayer told("type: 'Normalize' norm_param { channel_shared: false scale_filler { value: 20 } }", "",
                       {{2, 3, 4, 4}});
  EXPECT_EQ(told.shapes.w[0].shape, Shape{3});
  EXPECT_EQ(told.shapes.w[0].filler.value(), 20);
}

TEST(Normalize, ReportsErrors) {
  expect_field_error("type: 'Normalize'", {{5}}, "bottom[0]", "1 axis");
  expect_field_error("type: 'Normalize' norm_param { eps: 0 }", {{2, 5}}, "norm_param.eps", "above 0");
  expect_field_error("type: 'Normalize' norm_param { scale_filler { type: 'one' } }", {{2, 5}},
                     "norm_param.scale_filler.type", "one");
}

}  // namespace
}  // namespace cortado::harness
