#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase axpy(const Shape& factors, const Shape& shape) {
  return {
      .layer = "type: 'Axpy'",
      .x = {random(factors, 1), random(shape, 2), random(shape, 3)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        Array y = x[2];
        const size_t places = size_t(y.shape.count(2));
        for (size_t i = 0; i < y.size(); ++i) y[i] += x[0][i / places] * x[1][i];
        return {y};
      },
  };
}

TEST(Axpy, MultipliesChannelsAndAdds) { check_layer(axpy({2, 5, 1, 1}, {2, 5, 3, 4})); }
TEST(Axpy, AcceptsFactorsWithoutPositions) { check_layer(axpy({2, 5}, {2, 5, 3, 4})); }
TEST(Axpy, TakesSequences) { check_layer(axpy({3, 4, 1}, {3, 4, 6})); }
TEST(Axpy, TakesMatrices) { check_layer(axpy({3, 4}, {3, 4})); }

TEST(Axpy, ReportsTheMismatchedBottom) {
  expect_field_error("type: 'Axpy'", {{2, 4}, {2, 5, 3, 4}, {2, 5, 3, 4}}, "bottom[0]", "2x4, but bottom[1]");
  expect_field_error("type: 'Axpy'", {{2, 5, 3, 4}, {2, 5, 3, 4}, {2, 5, 3, 4}}, "bottom[0]", "2x5x3x4");
  expect_field_error("type: 'Axpy'", {{2, 5}, {2, 5, 3, 4}, {2, 5, 4, 3}}, "bottom[2]", "2x5x4x3, but bottom[1]");
  expect_field_error("type: 'Axpy'", {{2}, {2}, {2}}, "bottom[1]", "samples and channels");
}

}  // namespace
}  // namespace cortado::harness
