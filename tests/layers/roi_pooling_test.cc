#include <gtest/gtest.h>

#include "tests/harness/regions.h"

namespace cortado::harness {
namespace {

const std::string kLayer = "type: 'ROIPooling' roi_pooling_param { ";

int64_t limited(int64_t at, int64_t size) { return std::min(std::max<int64_t>(at, 0), size); }

/// The pixels of bin k along an axis, in integers.
std::pair<int64_t, int64_t> bin(double from, double to, double scale, double pad, int64_t k, int64_t bins,
                                int64_t size) {
  const double more = pad * (to - from + 1);
  const int64_t first = int64_t(std::round((from - more) * scale)), last = int64_t(std::round((to + more) * scale));
  const int64_t length = std::max<int64_t>(last - first + 1, 1);
  return {limited(first + k * length / bins, size), limited(first + ((k + 1) * length + bins - 1) / bins, size)};
}

LayerCase pooling(const std::string& options, int64_t pooled_h, int64_t pooled_w, double scale, double pad = 0) {
  return {
      .layer = kLayer + options + " }",
      .x = {distinct({2, 20, 6, 8}, 1), some_regions(2, 6 / scale, 8 / scale)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        const auto largest = [=](const RegionBin& b) {
          const auto [h0, h1] = bin(b.box[1], b.box[3], scale, pad, b.bin_h, pooled_h, b.height);
          const auto [w0, w1] = bin(b.box[0], b.box[2], scale, pad, b.bin_w, pooled_w, b.width);
          double most = h0 < h1 && w0 < w1 ? -1e9 : 0;
          for (int64_t h = h0; h < h1; ++h)
            for (int64_t w = w0; w < w1; ++w) most = std::max(most, b.at(h, w));
          return most;
        };
        return {pooled(x, x[0].shape[1], pooled_h, pooled_w, largest, [](int64_t c, int64_t, int64_t) { return c; })};
      },
  };
}

TEST(ROIPooling, ReturnsTheMaximumOfEachPart) { check_layer(pooling("pooled_h: 2 pooled_w: 4", 2, 4, 1)); }
TEST(ROIPooling, ScalesAndRoundsCorners) {
  check_layer(pooling("pooled_h: 4 pooled_w: 2 spatial_scale: 0.25", 4, 2, 0.25));
}
TEST(ROIPooling, SupportsMorePartsThanPixels) { check_layer(pooling("pooled_h: 16 pooled_w: 1", 16, 1, 1)); }
TEST(ROIPooling, GrowsRegionsByTheirSides) {
  check_layer(pooling("pooled_h: 2 pooled_w: 2 spatial_scale: 0.5 pad_ratio: 0.25", 2, 2, 0.5, 0.25));
}
TEST(ROIPooling, SupportsIntelsSizes) {
  check_layer(pooling("pooled_size: 2", 2, 2, 1));
  check_layer(pooling("pooled_size: 2 pooled_size: 4", 2, 4, 1));
}

TEST(ROIPooling, AcceptsRegionsOfFourAxesAndNone) {
  LayerCase layer = pooling("pooled_h: 2 pooled_w: 2", 2, 2, 1);
  layer.x[1].shape = {7, 5, 1, 1};
  check_layer(layer);
  layer.x[1] = Array({0, 5});
  check_layer(layer);
}

TEST(ROIPooling, TheFirstOfEqualValuesGetsTheGradient) {
  LayerRun run(kLayer + "pooled_h: 1 pooled_w: 1 }",
               {Array({1, 1, 2, 2}, {1, 3, 3, 3}), Array({2, 5}, {0, 0, 0, 1, 1,  //
                                                                  0, 0, 1, 1, 1})});
  run.forward();
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{3, 3}));
  run.backward({Array({2, 1, 1, 1}, {5, 7})});
  EXPECT_EQ(run.dx(0).values, (std::vector<double>{0, 5, 7, 0}));
}

TEST(ROIPooling, RejectsInvalidRegions) {
  expect_bad_regions_found(kLayer + "pooled_h: 2 pooled_w: 2 }", {2, 3, 4, 4});
}

TEST(ROIPooling, AcceptsRegionsOfAnySize) {
  expect_any_region_runs(kLayer + "pooled_h: 2 pooled_w: 2 }", {2, 3, 4, 4});
  expect_any_region_runs(kLayer + "pooled_h: 2 pooled_w: 2 spatial_scale: 100 pad_ratio: 10 }", {2, 3, 4, 4});
}

TEST(ROIPooling, ReportsErrors) {
  const Shape x = {2, 3, 4, 4}, rois = {7, 5};
  const std::string field = "roi_pooling_param.";
  expect_field_error(kLayer + "pooled_w: 2 }", {x, rois}, field + "pooled_h", "pooled_h is 0");
  expect_field_error(kLayer + "pooled_h: 2 }", {x, rois}, field + "pooled_w", "pooled_w is 0");
  expect_field_error(kLayer + "pooled_size: 0 }", {x, rois}, field + "pooled_size", "pooled_size is 0");
  expect_field_error(kLayer + "pooled_size: 2 pooled_w: 3 }", {x, rois}, field + "pooled_size", "more than two values");
  const std::string good = kLayer + "pooled_h: 2 pooled_w: 2 ";
  for (const char* scale : {"0", "-1", "nan", "inf"})
    expect_field_error(good + "spatial_scale: " + scale + " }", {x, rois}, field + "spatial_scale", scale);
  expect_field_error(good + "pad_ratio: -0.5 }", {x, rois}, field + "pad_ratio", "-0.5");
  expect_field_error(good + "}", {{2, 3, 4}, rois}, "bottom[0]", "2x3x4");
  expect_field_error(good + "}", {{2, 3, 0, 4}, rois}, "bottom[0]", "2x3x0x4");
  expect_field_error(good + "}", {x, {7, 4}}, "bottom[1]", "7x4, but regions are R x 5");
  expect_field_error(good + "}", {x, {5}}, "bottom[1]", "R x 5");
}

}  // namespace
}  // namespace cortado::harness
