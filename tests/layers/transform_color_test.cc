#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// maps: 12 numbers for each image.
Array mapped(const Array& x, const std::vector<std::vector<double>>& maps) {
  Array y(x.shape);
  const size_t pixels = size_t(x.shape.count(2));
  for (size_t n = 0; n < maps.size(); ++n)
    for (size_t c = 0; c < 3; ++c)
      for (size_t p = 0; p < pixels; ++p) {
        double sum = maps[n][4 * c + 3];
        for (size_t k = 0; k < 3; ++k) sum += maps[n][4 * c + k] * x[(3 * n + k) * pixels + p];
        y[(3 * n + c) * pixels + p] = sum;
      }
  return y;
}

std::vector<double> twelve(const Array& theta, size_t n) {
  return {theta.values.begin() + int64_t(12 * n), theta.values.begin() + int64_t(12 * n) + 12};
}

const Array kImages = random({2, 3, 4, 5}, 1);

TEST(TransformColor, IsAnAffineMapOfColours) {
  check_layer({.layer = "type: 'TransformColor' tc_param { output_H: 4 output_W: 5 }",
               .x = {kImages, random({2, 3, 4}, 2)},
               .reference = [](const Arrays& x, const Arrays&) -> Arrays {
                 return {mapped(x[0], {twelve(x[1], 0), twelve(x[1], 1)})};
               }});
}

TEST(TransformColor, SupportsFixedNumbers) {
  check_layer({.layer = "type: 'TransformColor' tc_param { theta_1_2: 0.5 theta_3_4: -2 }",
               .x = {kImages, random({2, 10}, 3)},
               .reference = [](const Arrays& x, const Arrays&) -> Arrays {
                 std::vector<std::vector<double>> maps;
                 for (size_t n = 0; n < 2; ++n) {
                   const auto first = x[1].values.begin() + int64_t(10 * n);
                   std::vector<double> map(first, first + 10);
                   map.insert(map.begin() + 1, 0.5);
                   map.push_back(-2);
                   maps.push_back(map);
                 }
                 return {mapped(x[0], maps)};
               }});
}

TEST(TransformColor, SupportsImagesWithoutGradient) {
  const std::string layer = "type: 'TransformColor' tc_param { to_compute_dU: false }";
  LayerRun run(layer, {kImages, random({2, 12}, 2)});
  EXPECT_FALSE(run.layer().differentiable(0));
  EXPECT_TRUE(run.layer().differentiable(1));
}

TEST(TransformColor, ReportsErrors) {
  const auto expect = [](const std::string& options, const std::vector<Shape>& x, const std::string& field,
                         const std::string& words) {
    expect_field_error("type: 'TransformColor' tc_param { " + options + " }", x, field, words);
  };
  const std::vector<Shape> x = {{2, 3, 5, 4}, {2, 12}};
  expect("transform_type: 'hue'", x, "tc_param.transform_type", "map 'hue' is not available");
  expect("output_H: 4", x, "tc_param.output_H", "it is 4, but the image has 5");
  expect("output_W: 5", x, "tc_param.output_W", "it is 5, but the image has 4");
  expect("theta_3_4: nan", x, "tc_param.theta_3_4", "must be a finite number");
  expect("theta_1_3: 1", x, "bottom[1]", "must be 2x11");
  expect("", {{2, 1, 5, 4}, {2, 12}}, "bottom[0]", "N x 3 x H x W");
}

}  // namespace
}  // namespace cortado::harness
