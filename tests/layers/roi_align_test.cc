#include <gtest/gtest.h>

#include "tests/harness/regions.h"

namespace cortado::harness {
namespace {

const std::string kLayer = "type: 'ROIAlign' roi_align_param { ";
const std::string kCorners = "type: 'ROIAlign' roi_pooling_param { ";

/// The value interpolated at (h, w), which is clamped to the positions first; 0 if it is more than `margin` outside.
double interpolated(const RegionBin& b, double h, double w, double margin) {
  const double last_h = double(b.height - 1), last_w = double(b.width - 1);
  if (h < -margin || h > last_h + margin || w < -margin || w > last_w + margin) return 0;
  h = std::min(std::max(h, 0.0), last_h), w = std::min(std::max(w, 0.0), last_w);
  double sum = 0;
  for (int64_t i = 0; i < b.height; ++i)
    for (int64_t j = 0; j < b.width; ++j)
      sum += b.at(i, j) * std::max(0.0, 1 - std::fabs(h - double(i))) * std::max(0.0, 1 - std::fabs(w - double(j)));
  return sum;
}

int64_t same(int64_t c, int64_t, int64_t) { return c; }

LayerCase averages(int64_t bins_h, int64_t bins_w, double scale, int64_t ratio) {
  const auto mean = [=](const RegionBin& b) {
    const double high = std::max((b.box[3] - b.box[1]) * scale, 1.0) / double(bins_h);
    const double wide = std::max((b.box[2] - b.box[0]) * scale, 1.0) / double(bins_w);
    const int64_t n = ratio > 0 ? ratio : int64_t(std::ceil(high)), m = ratio > 0 ? ratio : int64_t(std::ceil(wide));
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < m; ++j)
        sum += interpolated(b, b.box[1] * scale + (double(b.bin_h) + (double(i) + 0.5) / double(n)) * high,
                            b.box[0] * scale + (double(b.bin_w) + (double(j) + 0.5) / double(m)) * wide, 1);
    return sum / double(n * m);
  };
  return {
      .layer = kLayer + "pooled_h: " + std::to_string(bins_h) + " pooled_w: " + std::to_string(bins_w) +
               " spatial_scale: " + std::to_string(scale) + " sampling_ratio: " + std::to_string(ratio) + " }",
      .x = {random({2, 20, 6, 8}, 1), some_regions(2, 5.9 / scale, 7.9 / scale)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {pooled(x, x[0].shape[1], bins_h, bins_w, mean, same)};
      },
  };
}

LayerCase corners(int64_t parts_h, int64_t parts_w, double scale, double pad) {
  const auto corner = [=](const RegionBin& b) {
    const double pad_h = pad * (b.box[3] - b.box[1] + 1), pad_w = pad * (b.box[2] - b.box[0] + 1);
    const double top = (b.box[1] - pad_h) * scale, left = (b.box[0] - pad_w) * scale;
    const double high = (b.box[3] + pad_h) * scale - top, wide = (b.box[2] + pad_w) * scale - left;
    if (high <= 0 || wide <= 0) return 0.0;
    return interpolated(b, top - 0.5 + double(b.bin_h) * high / double(parts_h),
                        left - 0.5 + double(b.bin_w) * wide / double(parts_w), 0.5);
  };
  return {
      .layer = kCorners + "pooled_h: " + std::to_string(parts_h) + " pooled_w: " + std::to_string(parts_w) +
               " spatial_scale: " + std::to_string(scale) + " pad_ratio: " + std::to_string(pad) + " }",
      .x = {random({2, 20, 6, 8}, 1), some_regions(2, 5.9 / scale, 7.9 / scale)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {pooled(x, x[0].shape[1], parts_h + 1, parts_w + 1, corner, same)};
      },
  };
}

TEST(ROIAlign, AveragesPoints) { check_layer(averages(2, 3, 1, 2)); }
TEST(ROIAlign, SupportsAPointPerPixel) { check_layer(averages(3, 2, 0.5, 0)); }
TEST(ROIAlign, SupportsOnePoint) { check_layer(averages(5, 5, 0.25, 1)); }
TEST(ROIAlign, ReturnsTheValuesAtCorners) { check_layer(corners(3, 2, 0.5, 0)); }
TEST(ROIAlign, GrowsRegionsByTheirSides) { check_layer(corners(2, 2, 0.25, 0.25)); }

TEST(ROIAlign, RejectsInvalidRegions) {
  expect_bad_regions_found(kLayer + "pooled_h: 2 pooled_w: 2 }", {2, 3, 4, 4});
  expect_bad_regions_found(kCorners + "pooled_h: 2 pooled_w: 2 }", {2, 3, 4, 4});
}

TEST(ROIAlign, AcceptsRegionsOfAnySize) {
  expect_any_region_runs(kLayer + "pooled_h: 2 pooled_w: 2 spatial_scale: 100 }", {2, 3, 4, 4});
  expect_any_region_runs(kLayer + "pooled_h: 2 pooled_w: 2 sampling_ratio: 1000 }", {2, 3, 4, 4});
  expect_any_region_runs(kCorners + "pooled_h: 2 pooled_w: 2 pad_ratio: 10 }", {2, 3, 4, 4});
}

TEST(ROIAlign, ReportsErrors) {
  const Shape x = {2, 3, 4, 4}, rois = {7, 5};
  expect_field_error("type: 'ROIAlign'", {x, rois}, "roi_align_param.pooled_h", "0");
  expect_field_error(kLayer + "pooled_h: 2 }", {x, rois}, "roi_align_param.pooled_w", "0");
  for (const char* ratio : {"-1", "1001"})
    expect_field_error(kLayer + "pooled_h: 2 pooled_w: 2 sampling_ratio: " + ratio + " }", {x, rois},
                       "roi_align_param.sampling_ratio", ratio);
  expect_field_error(kLayer + "pooled_h: 2 pooled_w: 2 spatial_scale: -1 }", {x, rois}, "roi_align_param.spatial_scale",
                     "-1");
  expect_field_error(kCorners + "pooled_h: 2 pooled_w: 2 } roi_align_param { }", {x, rois}, "roi_align_param",
                     "roi_pooling_param");
  expect_field_error(kCorners + "pooled_size: 2 }", {x, rois}, "roi_pooling_param.pooled_size", "for ROIPooling");
  expect_field_error(kCorners + "pooled_h: 2 pooled_w: 2 pad_ratio: nan }", {x, rois}, "roi_pooling_param.pad_ratio",
                     "nan");
  expect_field_error(kLayer + "pooled_h: 2 pooled_w: 2 }", {x, {7, 6}}, "bottom[1]", "R x 5");
}

}  // namespace
}  // namespace cortado::harness
