#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

TEST(VoxelSoftmax, IsOverTheChannelsOfVolumes) {
  check_layer({.layer = "type: 'VoxelSoftmax'",
               .x = {random({2, 3, 2, 3, 2}, 1)},
               .reference = [](const Arrays& x, const Arrays&) -> Arrays {
                 Array y(x[0].shape);
                 for (size_t i = 0; i < y.size(); ++i) {
                   double sum = 0;
                   for (size_t c = 0; c < 3; ++c) sum += std::exp(x[0][i / 36 * 36 + c * 12 + i % 12]);
                   y[i] = std::exp(x[0][i]) / sum;
                 }
                 return {y};
               }});
}

}  // namespace
}  // namespace cortado::harness
