#include <gtest/gtest.h>

#include "tests/harness/regions.h"

namespace cortado::harness {
namespace {

const std::string kLayer = "type: 'PSROIPooling' psroi_pooling_param { ";

std::pair<int64_t, int64_t> part(double from, double to, double scale, int64_t k, int64_t parts, int64_t size) {
  const double begin = std::round(from) * scale, end = (std::round(to) + 1) * scale;
  const double step = std::max(end - begin, 0.1) / double(parts);
  const auto limited = [=](double at) { return int64_t(std::min(std::max(at, 0.0), double(size))); };
  return {limited(std::floor(double(k) * step + begin)), limited(std::ceil(double(k + 1) * step + begin))};
}

LayerCase pooling(int64_t channels, int64_t group, double scale) {
  return {
      .layer = kLayer + "output_dim: " + std::to_string(channels) + " group_size: " + std::to_string(group) +
               " spatial_scale: " + std::to_string(scale) + " }",
      .x = {random({2, channels * group * group, 6, 8}, 1), some_regions(2, 6 / scale, 8 / scale)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        const auto mean = [=](const RegionBin& b) {
          const auto [h0, h1] = part(b.box[1], b.box[3], scale, b.bin_h, group, b.height);
          const auto [w0, w1] = part(b.box[0], b.box[2], scale, b.bin_w, group, b.width);
          double sum = 0, count = 0;
          for (int64_t h = h0; h < h1; ++h)
            for (int64_t w = w0; w < w1; ++w) sum += b.at(h, w), ++count;
          return count > 0 ? sum / count : 0;
        };
        const auto source = [=](int64_t c, int64_t i, int64_t j) { return (c * group + i) * group + j; };
        return {pooled(x, channels, group, group, mean, source)};
      },
  };
}

TEST(PSROIPooling, AveragesPartsWithSeparateChannels) { check_layer(pooling(3, 2, 1)); }
TEST(PSROIPooling, ScalesRegions) { check_layer(pooling(2, 4, 0.25)); }
TEST(PSROIPooling, SupportsOnePart) { check_layer(pooling(20, 1, 0.5)); }

TEST(PSROIPooling, RejectsInvalidRegions) {
  expect_bad_regions_found(kLayer + "output_dim: 1 group_size: 2 spatial_scale: 1 }", {2, 4, 4, 4});
}

TEST(PSROIPooling, AcceptsRegionsOfAnySize) {
  expect_any_region_runs(kLayer + "output_dim: 1 group_size: 2 spatial_scale: 100 }", {2, 4, 4, 4});
}

TEST(PSROIPooling, ReportsErrors) {
  const Shape x = {2, 12, 4, 4}, rois = {7, 5};
  const std::string field = "psroi_pooling_param.";
  expect_field_error(kLayer + "output_dim: 0 group_size: 2 spatial_scale: 1 }", {x, rois}, field + "output_dim", "0");
  expect_field_error(kLayer + "output_dim: 3 group_size: -2 spatial_scale: 1 }", {x, rois}, field + "group_size", "-2");
  expect_field_error(kLayer + "output_dim: 3 group_size: 2 spatial_scale: 0 }", {x, rois}, field + "spatial_scale",
                     "0");
  for (const char* sizes :
       {"output_dim: 2 group_size: 2", "output_dim: 3 group_size: 3", "output_dim: 3 group_size: 2147483647"})
    expect_field_error(kLayer + sizes + " spatial_scale: 1 }", {x, rois}, "bottom[0]", "12 channels, but output_dim");
  expect_field_error(kLayer + "output_dim: 3 group_size: 2 spatial_scale: 1 }", {x, {5, 7}}, "bottom[1]", "R x 5");
}

}  // namespace
}  // namespace cortado::harness
