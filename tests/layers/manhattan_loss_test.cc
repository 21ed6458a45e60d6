#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

TEST(ManhattanLoss, IsL1Loss) {
  check_layer({.layer = "type: 'ManhattanLoss'",
               .x = {random({3, 4}, 1), random({3, 4}, 2)},
               .reference = [](const Arrays& x, const Arrays&) -> Arrays {
                 double sum = 0;
                 for (size_t i = 0; i < x[0].size(); ++i) sum += std::fabs(x[0][i] - x[1][i]);
                 return {Array(Shape(), sum / 3)};
               }});
}

}  // namespace
}  // namespace cortado::harness
