#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

void check(const std::string& options, int64_t r, const Shape& shape) {
  SCOPED_TRACE(options + " of " + shape.str());
  const int64_t c = shape[1] / (r * r), h = shape[2], w = shape[3];
  check_layer({
      .layer = "type: 'PixelShuffle' pixel_shuffle_param { " + options + " }",
      .x = {random(shape, 1)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        Array y({shape[0], c, h * r, w * r});
        for (int64_t at = 0; at < y.shape.count(); ++at) {
          const int64_t column = at % (w * r), row = at / (w * r) % (h * r), channel = at / (w * r * h * r);
          const int64_t from = (channel * r + row % r) * r + column % r;
          y[size_t(at)] = x[0][size_t((from * h + row / r) * w + column / r)];
        }
        return {y};
      },
      .channels_last = true,
  });
}

TEST(PixelShuffle, MovesChannelsToPositions) {
  check("", 2, {2, 12, 3, 5});
  check("upscale_factor: 3", 3, {2, 18, 2, 4});
  check("upscale_factor: 4", 4, {1, 16, 2, 1});
  check("upscale_factor: 1", 1, {2, 3, 2, 2});
}

TEST(PixelShuffle, ReportsErrors) {
  const auto refuses = [](const std::string& factor, const std::string& words) {
    expect_field_error("type: 'PixelShuffle' pixel_shuffle_param { upscale_factor: " + factor + " }", {{1, 6, 2, 2}},
                       "pixel_shuffle_param.upscale_factor", words);
  };
  refuses("0", "upscale_factor is 0");
  refuses("2", "does not divide the 6 channels");
  refuses("4294967295", "does not divide");
  expect_field_error("type: 'PixelShuffle'", {{1, 4, 2}}, "bottom[0]", "N x C x H x W");
}

}  // namespace
}  // namespace cortado::harness
