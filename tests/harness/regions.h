#pragma once

// Shared parts of the references for layers that pool regions, and their test regions.

#include <cmath>
#include <functional>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {

/// Regions of the first `images` images. Some exceed the image of `height` x `width` pixels, overlap, are a point, or
/// have exchanged corners.
inline Array some_regions(int64_t images, double height, double width) {
  const double last = double(images - 1), h = height, w = width;
  return Array({7, 5}, {0,    0, 0,       w - 1, h - 1,  //
                        last, 2, 3,       w / 2, h - 2,  //
                        0,    4, h / 2,   4,     h / 2,  //
                        last, 1, h / 2,   w * 2, h * 2,  //
                        0,    5, h - 3,   2,     1,      //
                        last, 2, 2 * h,   6,     3 * h,  //
                        0,    3, -h / 4., w - 2, h / 2});
}

/// A value of y: the plane of the region's image and channel, the region (x0, y0, x1, y1), and the bin's position.
struct RegionBin {
  const double* plane;
  const double* box;
  int64_t height, width;
  int64_t channel, bin_h, bin_w;
  double at(int64_t h, int64_t w) const { return plane[h * width + w]; }
};

/// y, R x `channels` x bins_h x bins_w, by value(bin); channel c of y reads channel source(c, i, j) of x.
inline Array pooled(const Arrays& x, int64_t channels, int64_t bins_h, int64_t bins_w,
                    const std::function<double(const RegionBin&)>& value,
                    const std::function<int64_t(int64_t, int64_t, int64_t)>& source) {
  const Shape& in = x[0].shape;
  Array y({x[1].shape[0], channels, bins_h, bins_w});
  size_t at = 0;
  for (int64_t r = 0; r < y.shape[0]; ++r)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < bins_h; ++i)
        for (int64_t j = 0; j < bins_w; ++j) {
          const double* row = &x[1].values[size_t(5 * r)];
          const int64_t plane = (int64_t(row[0]) * in[1] + source(c, i, j)) * in[2] * in[3];
          y[at++] = value({&x[0].values[size_t(plane)], row + 1, in[2], in[3], c, i, j});
        }
  return y;
}

/// Checks that invalid regions are reported; on devices their y is NaN and their gradient zero.
inline void expect_bad_regions_found(const std::string& layer, const Shape& features) {
  const double last = double(features[0]), inf = INFINITY;
  for (const std::vector<double>& bad : {std::vector<double>{last, 0, 0, 2, 2},
                                         {-1, 0, 0, 2, 2},
                                         {NAN, 0, 0, 2, 2},
                                         {1e30, 0, 0, 2, 2},
                                         {0, 0, NAN, 2, 2},
                                         {0, 0, 0, inf, 2}}) {
    Array rois({2, 5}, {0, 0, 0, 2, 2, bad[0], bad[1], bad[2], bad[3], bad[4]});
    LayerRun run(layer, {random(features, 1), rois});
    try {
      run.forward();
      ADD_FAILURE() << layer;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      EXPECT_NE(std::string(error.what()).find("region 1 is image "), std::string::npos) << error.what();
    }
    for (const Device& device : tested_devices()) {
      LayerRun there(layer, {random(features, 1), rois}, {.device = device});
      there.forward();
      const Array& y = there.y()[0];
      for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i >= y.size() / 2) << i;
      EXPECT_THROW(there.validate(), Error);
      there.backward({Array(y.shape, 1.0)});
      const Array dx = there.dx(0);
      for (size_t i = 0; i < dx.size(); ++i) EXPECT_TRUE(std::isfinite(dx[i]));
    }
  }
}

/// Checks that regions with arbitrary numbers access no other memory.
inline void expect_any_region_runs(const std::string& layer, const Shape& features) {
  for (const double far : {1e9, 1e18, 3e38})
    for (const std::vector<double>& corners : {std::vector<double>{-far, -far, far, far},
                                               {far, far, far, far},
                                               {far, 0, -far, 1},
                                               {-far, -far, -far, far}}) {
      LayerRun run(layer, {random(features, 1), Array({1, 5}, {0, corners[0], corners[1], corners[2], corners[3]})});
      run.forward();
      run.backward({Array(run.y()[0].shape, 1.0)});
    }
}

}  // namespace cortado::harness
