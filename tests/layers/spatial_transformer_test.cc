#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// By the sum over all pixels of the first bottom.
Array transformed(const Array& x, const std::vector<std::vector<double>>& maps, const Shape& y_shape) {
  const int64_t height = x.shape[2], width = x.shape[3], channels = x.shape[1];
  Array y(y_shape);
  size_t at = 0;
  for (int64_t n = 0; n < y_shape[0]; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < y_shape[2]; ++i)
        for (int64_t j = 0; j < y_shape[3]; ++j, ++at) {
          const auto& t = maps[size_t(n)];
          const double v = 2.0 * double(i) / double(y_shape[2]) - 1, u = 2.0 * double(j) / double(y_shape[3]) - 1;
          const double row = double(height) * (t[0] * v + t[1] * u + t[2] + 1) / 2;
          const double column = double(width) * (t[3] * v + t[4] * u + t[5] + 1) / 2;
          for (int64_t h = 0; h < height; ++h)
            for (int64_t w = 0; w < width; ++w)
              y[at] += x[size_t(((n * channels + c) * height + h) * width + w)] *
                       std::fmax(0, 1 - std::fabs(row - double(h))) * std::fmax(0, 1 - std::fabs(column - double(w)));
        }
  return y;
}

/// Near the identity, with positions away from whole pixels, where the slope changes.
const Array kMaps({2, 6}, {0.976, 0.008, 0.068, 0.0, 0.973, 0.078, 1.032, -0.006, 0.199, 0.019, 0.994, -0.251});

std::vector<std::vector<double>> rows_of(const Array& maps) {
  std::vector<std::vector<double>> rows;
  for (size_t i = 0; i < maps.size(); i += 6)
    rows.emplace_back(maps.values.begin() + int64_t(i), maps.values.begin() + int64_t(i) + 6);
  return rows;
}

TEST(SpatialTransformer, SamplesByTheMap) {
  for (const Shape& y : {Shape{2, 3, 5, 4}, Shape{2, 3, 3, 6}})
    check_layer({
        .layer = "type: 'SpatialTransformer' st_param { output_H: " + std::to_string(y[2]) +
                 " output_W: " + std::to_string(y[3]) + " }",
        .x = {random({2, 3, 5, 4}, 1), kMaps},
        .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {transformed(x[0], rows_of(x[1]), y)}; },
    });
}

TEST(SpatialTransformer, IdentityKeepsTheImage) {
  const Array x = random({1, 2, 4, 3}, 1);
  LayerRun run("type: 'SpatialTransformer'", {x, Array({1, 6}, {1, 0, 0, 0, 1, 0})});
  run.forward();
  expect_near(run.y()[0], x, 1e-5, "y");
}

TEST(SpatialTransformer, SupportsFixedNumbers) {
  check_layer({
      .layer = "type: 'SpatialTransformer' st_param { theta_1_2: 0.083 theta_2_1: -0.057 theta_2_3: 0.023 }",
      .x = {random({1, 2, 5, 4}, 1), Array({1, 3}, {0.91, 0.031, 0.87})},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        return {transformed(x[0], {{x[1][0], 0.083, x[1][1], -0.057, x[1][2], 0.023}}, x[0].shape)};
      },
  });
}

TEST(SpatialTransformer, SupportsImagesWithoutGradient) {
  const std::string layer = "type: 'SpatialTransformer' st_param { to_compute_dU: false }";
  LayerRun run(layer, {random({2, 3, 5, 4}, 1), kMaps});
  EXPECT_FALSE(run.layer().differentiable(0));
  EXPECT_TRUE(run.layer().differentiable(1));
}

TEST(SpatialTransformer, ReportsErrors) {
  const auto expect = [](const std::string& options, const std::vector<Shape>& x, const std::string& field,
                         const std::string& words) {
    expect_field_error("type: 'SpatialTransformer' st_param { " + options + " }", x, field, words);
  };
  const std::vector<Shape> x = {{2, 3, 5, 4}, {2, 6}};
  expect("transform_type: 'tps'", x, "st_param.transform_type", "map 'tps' is not available");
  expect("sampler_type: 'nearest'", x, "st_param.sampler_type", "sampler 'nearest' is not available");
  expect("output_H: -1", x, "st_param.output_H", "it is -1");
  expect("theta_1_3: nan", {{2, 3, 5, 4}, {2, 5}}, "st_param.theta_1_3", "must be a finite number");
  expect("theta_1_3: 1", x, "bottom[1]", "must be 2x5");
  expect("", {{2, 3, 5}, {2, 6}}, "bottom[0]", "N x C x H x W");
}

}  // namespace
}  // namespace cortado::harness
