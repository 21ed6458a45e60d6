#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

double smooth(double d) { return std::fabs(d) < 1 ? d * d / 2 : std::fabs(d) - 0.5; }

LayerCase smooth_l1(const std::string& options, double normalizer, int bottoms, const Shape& shape,
                    bool shows_losses = true) {
  Arrays x = {random(shape, 1), random(shape, 2, -3, 3), random(shape, 3, -1, 2)};
  x.resize(size_t(bottoms));
  return {
      .layer = "type: 'SmoothL1LossOHEM' top: 'loss' " + std::string(shows_losses ? "top: 'losses' " : "") + options,
      .x = x,
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        Shape rows = shape;
        rows[1] = 1;
        Array losses(rows);
        const int64_t channels = shape[1], places = shape.count(2);
        double sum = 0;
        for (int64_t i = 0; i < int64_t(x[0].size()); ++i) {
          const double w = x.size() > 2 ? x[2][size_t(i)] : 1;
          const double loss = smooth(w * (x[0][size_t(i)] - x[1][size_t(i)]));
          losses[size_t(i / (channels * places) * places + i % places)] += loss;
          sum += loss;
        }
        const Array all(Shape(), sum / normalizer);
        return shows_losses ? Arrays{all, losses} : Arrays{all};
      },
  };
}

TEST(SmoothL1LossOHEM, ReturnsTheLossOfEachRegion) {
  check_layer(smooth_l1("", 5, 3, {5, 8}));
  check_layer(smooth_l1("", 5, 3, {5, 8, 1, 1}));
}
TEST(SmoothL1LossOHEM, ReturnsTheLossOfEachPosition) { check_layer(smooth_l1("", 2 * 6, 2, {2, 4, 3, 2})); }
TEST(SmoothL1LossOHEM, SupportsOneTop) { check_layer(smooth_l1("", 5, 3, {5, 8}, false)); }

TEST(SmoothL1LossOHEM, UsesTheNormalizer) {
  const Shape shape = {2, 4, 3, 2};
  const std::string param = "loss_param { ", by = param + "normalization: ";
  check_layer(smooth_l1(by + "FULL }", 12, 3, shape));
  check_layer(smooth_l1(by + "VALID }", 12, 3, shape));
  check_layer(smooth_l1(by + "BATCH_SIZE }", 2, 3, shape));
  check_layer(smooth_l1(by + "NONE }", 1, 3, shape));
  check_layer(smooth_l1(by + "PRE_FIXED pre_fixed_normalizer: 128 }", 128, 3, shape));
  check_layer(smooth_l1(by + "PRE_FIXED pre_fixed_normalizer: 0.5 }", 1, 3, shape));
  check_layer(smooth_l1(param + "normalize: false }", 2, 3, shape));
  check_layer(smooth_l1(param + "normalize: true }", 12, 3, shape));
}

TEST(SmoothL1LossOHEM, AcceptsNoRegions) {
  LayerRun run("type: 'SmoothL1LossOHEM' top: 'loss' top: 'losses'", {Array({0, 4}), Array({0, 4}), Array({0, 4})});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 0);
}

TEST(SmoothL1LossOHEM, ReportsErrors) {
  const std::string layer = "type: 'SmoothL1LossOHEM' ";
  expect_field_error(layer, {{5}, {5}}, "bottom[0]", "at least 2");
  expect_field_error(layer, {{5, 8}, {5, 4}}, "bottom[1]", "5x4, but bottom[0] has 5x8");
  expect_field_error(layer, {{5, 8}, {5, 8}, {4, 8}}, "bottom[2]", "4x8, but bottom[0] has 5x8");
  expect_field_error(layer + "smooth_l1_loss_param { sigma: 3 }", {{5, 8}, {5, 8}}, "smooth_l1_loss_param.sigma", "3");
  expect_field_error(layer + "loss_param { pre_fixed_normalizer: nan }", {{5, 8}, {5, 8}},
                     "loss_param.pre_fixed_normalizer", "nan");
}

}  // namespace
}  // namespace cortado::harness
