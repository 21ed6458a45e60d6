#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Two steps and one label: in the first, in the second, or in both.
TEST(WarpCtcLoss, IsCtcLossWithClassZeroAsTheBlank) {
  check_layer({
      .layer = "type: 'WarpCTCLoss'",
      .x = {random({2, 1, 4}, 1), Array({1, 3}, {2, 0, 0})},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        const auto p = [&](size_t t, size_t c) {
          double sum = 0;
          for (size_t k = 0; k < 4; ++k) sum += std::exp(x[0][t * 4 + k]);
          return std::exp(x[0][t * 4 + c]) / sum;
        };
        return {Array(Shape(), -std::log(p(0, 2) * p(1, 0) + p(0, 0) * p(1, 2) + p(0, 2) * p(1, 2)))};
      },
  });
}

}  // namespace
}  // namespace cortado::harness
