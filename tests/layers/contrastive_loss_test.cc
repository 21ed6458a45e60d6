#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase contrastive(const std::string& options, const Shape& shape, double margin, bool legacy) {
  return {
      .layer = "type: 'ContrastiveLoss' contrastive_loss_param { " + options + " }",
      .x = {random(shape, 1), random(shape, 2), random_labels({shape[0]}, 3, 2)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        double sum = 0;
        const size_t pairs = x[2].size(), width = x[0].size() / pairs;
        for (size_t i = 0; i < pairs; ++i) {
          double square = 0;
          for (size_t k = i * width; k < (i + 1) * width; ++k) square += (x[0][k] - x[1][k]) * (x[0][k] - x[1][k]);
          const double gap = std::max(0.0, margin - (legacy ? square : std::sqrt(square)));
          sum += x[2][i] != 0 ? square : legacy ? gap : gap * gap;
        }
        return {Array(Shape(), sum / 2 / double(pairs))};
      },
      .tolerance = 2e-4,
  };
}

TEST(ContrastiveLoss, PullsAndPushes) {
  check_layer(contrastive("", {12, 2}, 1, false));
  check_layer(contrastive("margin: 2.5", {12, 4, 1, 1}, 2.5, false));
}

TEST(ContrastiveLoss, LegacyPushesByTheSquare) {
  check_layer(contrastive("margin: 3 legacy_version: true", {12, 4}, 3, true));
}

TEST(ContrastiveLoss, EqualPairsStayFinite) {
  LayerRun run("type: 'ContrastiveLoss'", {Array({1, 2}, 0.5), Array({1, 2}, 0.5), Array({1}, {0})});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 0.5);
  run.backward({Array(Shape(), 1.0)});
  EXPECT_EQ(run.dx(0)[0], 0);
}

TEST(ContrastiveLoss, DividesByTheDistancePlusEpsilon) {
  LayerRun run("type: 'ContrastiveLoss'", {Array({1, 1}, {1e-4}), Array({1, 1}, {0}), Array({1}, {0})});
  run.forward();
  run.backward({Array(Shape(), 1.0)});
  EXPECT_NEAR(run.dx(0)[0], -(1 - 1e-4) / 2, 1e-6);
  EXPECT_NEAR(run.dx(1)[0], (1 - 1e-4) / 2, 1e-6);
}

TEST(ContrastiveLoss, ReportsErrors) {
  expect_field_error("type: 'ContrastiveLoss'", {{4, 3}, {4, 2}, {4}}, "bottom[1]", "4x2, but bottom[0] has 4x3");
  expect_field_error("type: 'ContrastiveLoss'", {{4, 3}, {4, 3}, {3}}, "bottom[2]", "3 labels (3) for 4 pairs");
}

}  // namespace
}  // namespace cortado::harness
