#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::string unpooling(const std::string& options) {
  return "type: 'Unpooling' unpooling_param { kernel_size: 2 " + options + " }";
}

TEST(Unpooling, PutsValuesBackByTheMask) {
  const Shape shape = {2, 3, 3, 2};
  Array mask(shape);
  for (int64_t i = 0; i < shape.count(); ++i) mask[size_t(i)] = double((i % 6 * 11 + i / 6) % 20);
  const auto reference = [](const Arrays& x, const Arrays&) -> Arrays {
    Array y({2, 3, 5, 4}, 0.0);
    for (size_t i = 0; i < x[0].size(); ++i) y[i / 6 * 20 + size_t(x[1][i])] = x[0][i];
    return {y};
  };
  check_layer(
      {.layer = unpooling("stride: 2 unpool_h: 5 unpool_w: 4"), .x = {random(shape, 1), mask}, .reference = reference});
}

TEST(Unpooling, InvertsAPooling) {
  LayerRun pooling("type: 'Pooling' top: 'y' top: 'mask' pooling_param { kernel_size: 2 stride: 2 }",
                   {Array({1, 1, 4, 4}, {1, 5, 2, 3, 4, 0, 7, 6, 9, 8, 1, 2, 0, 0, 0, 3})}, {.backward = false});
  pooling.forward();
  LayerRun run(unpooling("stride: 2 unpool_size: 4"), pooling.y());
  run.forward();
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{0, 5, 0, 0, 0, 0, 7, 0, 9, 0, 0, 0, 0, 0, 0, 3}));
}

/// Without a mask.
void check_corners(const std::string& options, const Shape& shape, int64_t height, int64_t width, int64_t stride_h,
                   int64_t stride_w) {
  SCOPED_TRACE(options);
  check_layer({.layer = unpooling(options),
               .x = {random(shape, 1)},
               .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
                 Array y({shape[0], shape[1], height, width}, 0.0);
                 for (int64_t p = 0; p < shape.count(0, 2); ++p)
                   for (int64_t h = 0; h < shape[2]; ++h)
                     for (int64_t w = 0; w < shape[3]; ++w)
                       y[size_t((p * height + std::min(h * stride_h, height - 1)) * width +
                                std::min(w * stride_w, width - 1))] = x[0][size_t((p * shape[2] + h) * shape[3] + w)];
                 return {y};
               }});
}

TEST(Unpooling, PutsValuesIntoCorners) {
  check_corners("stride: 2 unpool_size: 6", {2, 3, 3, 3}, 6, 6, 2, 2);
  check_corners("stride_h: 3 stride_w: 1 unpool_h: 8 unpool_w: 2", {1, 2, 3, 2}, 8, 2, 3, 1);
  check_corners("stride: 2 unpool_size: 4", {1, 2, 5, 3}, 4, 4, 2, 2);  // the last row collects several
  check_corners("unpool_size: 3", {1, 1, 2, 2}, 3, 3, 1, 1);
}

TEST(Unpooling, ReportsAnIndexOutsideTheTop) {
  LayerRun run(unpooling("stride: 2 unpool_size: 2"), {Array({1, 1, 1, 1}, 3.0), Array({1, 1, 1, 1}, 4.0)});
  EXPECT_THROW(run.forward(), Error);
}

TEST(Unpooling, ReportsErrors) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words) {
    SCOPED_TRACE(options);
    expect_field_error(unpooling(options), {{1, 2, 3, 3}}, "unpooling_param" + field, words);
  };
  refuses("", "", "the size of y is missing");
  refuses("unpool_size: 4 unpool: AVE", ".unpool", "only MAX");
  refuses("unpool_size: 4 pad: 1", ".pad", "only 0 is supported");
  refuses("unpool_size: 4 pad_w: 1", ".pad_w", "only 0 is supported");
  refuses("unpool_size: 4 unpool_h: 4", ".unpool_size", "contradicts");
  refuses("unpool_h: 4", ".unpool_h", "only one side");
  refuses("unpool_size: 0", ".unpool_size", "it is 0");
  refuses("unpool_h: 4 unpool_w: 0", ".unpool_w", "it is 0");
  refuses("unpool_size: 4 stride: 0", ".stride", "it is 0");
  refuses("unpool_size: 4 stride: 1 stride_h: 1", ".stride", "contradicts");
  expect_field_error(unpooling("unpool_size: 4"), {{2, 3}}, "bottom[0]", "N x C x H x W");
  expect_field_error(unpooling("unpool_size: 4") + " bottom: 'x' bottom: 'mask'", {{1, 2, 3, 3}, {1, 2, 3, 2}},
                     "bottom[1]", "bottom[0] has 1x2x3x3");
}

}  // namespace
}  // namespace cortado::harness
