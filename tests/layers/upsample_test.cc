#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::string upsample(const std::string& options) { return "type: 'Upsample' upsample_param { " + options + " }"; }

void check_nearest(const std::string& options, int64_t scale_h, int64_t scale_w, const Shape& shape) {
  SCOPED_TRACE(options + " of " + shape.str());
  const int64_t h = shape[2] * scale_h, w = shape[3] * scale_w;
  check_layer({
      .layer = upsample(options),
      .x = {random(shape, 1)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        Array y({shape[0], shape[1], h, w});
        for (int64_t i = 0; i < y.shape.count(); ++i)
          y[size_t(i)] = x[0][size_t((i / (h * w) * shape[2] + i / w % h / scale_h) * shape[3] + i % w / scale_w)];
        return {y};
      },
      .channels_last = true,
  });
}

TEST(Upsample, RepeatsValues) {
  check_nearest("", 2, 2, {2, 20, 3, 2});
  check_nearest("scale: 3", 3, 3, {2, 5, 2, 4});
  check_nearest("scale_h: 1 scale_w: 3", 1, 3, {1, 16, 3, 2});
  check_nearest("scale_h: 2 scale_w: 1", 2, 1, {1, 3, 3, 2});
  check_nearest("scale: 1", 1, 1, {1, 3, 2, 2});
  check_nearest("", 2, 2, {0, 3, 2, 2});
}

/// A mask with distinct positions in each plane, in no order.
Array mask_for(const Shape& x, int64_t places) {
  Array mask(x);
  const int64_t values = x.count(2);
  for (int64_t i = 0; i < x.count(); ++i)
    mask[size_t(i)] = double((i % values * 7 + i / values * 3) % places);  // 7 and the number of positions are coprime
  return mask;
}

void check_unpool(const std::string& options, int64_t h, int64_t w, const Shape& shape) {
  SCOPED_TRACE(options + " of " + shape.str());
  check_layer({
      .layer = upsample(options),
      .x = {random(shape, 1), mask_for(shape, h * w)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        Array y({shape[0], shape[1], h, w});
        for (int64_t i = 0; i < shape.count(); ++i)
          y[size_t(i / shape.count(2) * h * w + int64_t(x[1][size_t(i)]))] = x[0][size_t(i)];
        return {y};
      },
  });
}

TEST(Upsample, RestoresPooledValues) {
  check_unpool("", 6, 4, {2, 3, 3, 2});
  check_unpool("scale: 3", 6, 3, {1, 2, 2, 1});
  check_unpool("scale_h: 2 scale_w: 4", 4, 8, {1, 2, 2, 2});
}

TEST(Upsample, UsesThePooledSize) {
  check_unpool("upsample_h: 5 upsample_w: 3", 5, 3, {2, 3, 3, 2});
  check_unpool("scale: 2 upsample_h: 5 upsample_w: 4", 5, 4, {2, 3, 3, 2});  // as in SegNet's nets
  check_unpool("pad_out_h: true", 5, 4, {2, 3, 3, 2});
  check_unpool("pad_out_w: true", 6, 3, {2, 3, 3, 2});
}

TEST(Upsample, InvertsAPooling) {
  LayerRun pooling("type: 'Pooling' top: 'y' top: 'mask' pooling_param { kernel_size: 2 stride: 2 }",
                   {Array({1, 1, 3, 4}, {1, 5, 2, 3, 4, 0, 7, 6, 9, 8, 1, 2})}, {.backward = false});
  pooling.forward();
  LayerRun run(upsample("upsample_h: 3 upsample_w: 4"), pooling.y());
  run.forward();
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{0, 5, 0, 0, 0, 0, 7, 0, 9, 0, 0, 2}));
}

TEST(Upsample, KeepsTheLastValueForAnIndex) {
  LayerRun run(upsample("upsample_h: 1 upsample_w: 4"),
               {Array({1, 1, 1, 3}, {1, 2, 3}), Array({1, 1, 1, 3}, {2, 0, 2})});
  run.forward();
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{2, 0, 3, 0}));
}

TEST(Upsample, ReportsAnIndexOutsideTheTop) {
  for (const double place : {6.0, -1.0, double(NAN)}) {
    const Arrays x = {Array({1, 1, 1, 2}, {1, 2}), Array({1, 1, 1, 2}, {0, place})};
    const std::string layer = upsample("upsample_h: 2 upsample_w: 3");
    const auto expect_error = [](const auto& call) {
      try {
        call();
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("in bottom[1] is outside the 2x3 of top[0]"), std::string::npos)
            << error.what();
      }
    };
    LayerRun on_cpu(layer, x);
    expect_error([&] { on_cpu.forward(); });
    for (const Device& device : tested_devices()) {
      LayerRun run(layer, x, {.device = device});
      run.forward();
      EXPECT_TRUE(std::isnan(run.y()[0][0]));
      expect_error([&] { run.validate(); });
    }
  }
}

TEST(Upsample, ReportsErrors) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words, int bottoms) {
    SCOPED_TRACE(options);
    expect_field_error(upsample(options) + (bottoms == 2 ? " bottom: 'x' bottom: 'mask'" : " bottom: 'x'"),
                       std::vector<Shape>(size_t(bottoms), Shape{1, 2, 3, 3}), "upsample_param." + field, words);
  };
  for (const int bottoms : {1, 2}) {
    refuses("scale: 0", "scale", "scale is 0", bottoms);
    refuses("scale_h: 2", "scale_h", "only one side", bottoms);
    refuses("scale_w: 2", "scale_w", "only one side", bottoms);
    refuses("scale_h: 2 scale_w: 0", "scale_w", "scale_w is 0", bottoms);
    refuses("scale: 2 scale_h: 2 scale_w: 2", "scale_h", "contradicts scale", bottoms);
  }
  refuses("upsample_h: 6 upsample_w: 6", "upsample_h", "inverse of a pooling", 1);
  refuses("pad_out_w: true", "pad_out_w", "inverse of a pooling", 1);
  refuses("upsample_h: 6", "upsample_h", "only one side", 2);
  refuses("upsample_h: 6 upsample_w: 0", "upsample_w", "upsample_w is 0", 2);
  refuses("scale: 3 pad_out_h: true", "pad_out_h", "needs a scale of 2, not 3", 2);
  expect_field_error("type: 'Upsample'", {{2, 3}}, "bottom[0]", "N x C x H x W");
  expect_field_error("type: 'Upsample' bottom: 'x' bottom: 'mask'", {{2, 3}, {2, 3}}, "bottom[0]", "N x C x H x W");
  expect_field_error("type: 'Upsample' bottom: 'x' bottom: 'mask'", {{1, 2, 3, 3}, {1, 2, 3, 2}}, "bottom[1]",
                     "bottom[0] has 1x2x3x3");
}

}  // namespace
}  // namespace cortado::harness
