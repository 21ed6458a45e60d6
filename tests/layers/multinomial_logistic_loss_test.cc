#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const char kLayer[] = "type: 'MultinomialLogisticLoss'";

LayerCase multinomial(const Shape& shape, const Shape& labels) {
  return {
      .layer = kLayer,
      .x = {random(shape, 1, 0.1, 1), random_labels(labels, 2, shape.count(1))},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        const size_t items = x[1].size(), classes = x[0].size() / items;
        double sum = 0;
        for (size_t i = 0; i < items; ++i) sum -= std::log(x[0][i * classes + size_t(x[1][i])]);
        return {Array(Shape(), sum / double(items))};
      },
  };
}

TEST(MultinomialLogisticLoss, IsTheNegativeLogLikelihood) {
  check_layer(multinomial({6, 5}, {6}));
  check_layer(multinomial({4, 3, 2, 2}, {4, 1, 1, 1}));
}

TEST(MultinomialLogisticLoss, HasAFloor) {
  LayerRun run(kLayer, {Array({1, 2}, {0, 1}), Array({1}, {0})});
  run.forward();
  EXPECT_NEAR(run.y()[0][0], -std::log(1e-20), 1e-4);
  run.backward({Array(Shape(), 1.0)});
  EXPECT_NEAR(run.dx(0)[0] / -1e20, 1, 1e-6);
  EXPECT_EQ(run.dx(0)[1], 0);
}

TEST(MultinomialLogisticLoss, ReportsAnInvalidLabel) {
  const Arrays x = {Array({2, 3}, 0.5), Array({2}, {0, -1})};
  LayerRun run(kLayer, x);
  EXPECT_THROW(run.forward(), Error);
  for (const Device& device : tested_devices()) {
    LayerRun on_device(kLayer, x, {.device = device});
    on_device.forward();
    EXPECT_TRUE(std::isnan(on_device.y()[0][0]));
    EXPECT_THROW(on_device.validate(), Error);
  }
}

TEST(MultinomialLogisticLoss, ReportsErrors) {
  expect_field_error(kLayer, {{4, 10}, {3}}, "bottom[1]", "there are 3 labels (3) for 4 predictions (4x10)");
}

}  // namespace
}  // namespace cortado::harness
