#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

TEST(VoxelSoftmaxLoss, IsTheMeanOverAllPositions) {
  check_layer({.layer = "type: 'VoxelSoftmaxLoss'",
               .x = {random({2, 3, 2, 3, 2}, 1), random_labels({2, 1, 2, 3, 2}, 2, 3)},
               .reference = [](const Arrays& x, const Arrays&) -> Arrays {
                 double loss = 0;
                 for (size_t i = 0; i < x[1].size(); ++i) {
                   const size_t first = i / 12 * 36 + i % 12;
                   double sum = 0;
                   for (size_t c = 0; c < 3; ++c) sum += std::exp(x[0][first + c * 12]);
                   loss += std::log(sum) - x[0][first + size_t(x[1][i]) * 12];
                 }
                 return {Array(Shape(), loss / double(x[1].size()))};
               }});
}

}  // namespace
}  // namespace cortado::harness
