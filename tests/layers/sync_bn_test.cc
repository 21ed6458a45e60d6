#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

TEST(SyncBn, IsBn) {
  check_layer({
      .layer = "type: 'SyncBN' bn_param { frozen: true }",
      .x = {random({2, 20, 3, 4}, 1)},
      .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
        Array y = x[0];
        for (size_t i = 0; i < y.size(); ++i) {
          const size_t c = i / 12 % 20;
          y[i] = (y[i] - w[2][c]) / std::sqrt(w[3][c] + 1e-5) * w[0][c] + w[1][c];
        }
        return {y};
      },
      .w = {random({1, 20, 1, 1}, 2), random({1, 20, 1, 1}, 3), random({1, 20, 1, 1}, 4),
            random({1, 20, 1, 1}, 5, 1, 3)},
      .channels_last = true,
  });
}

}  // namespace
}  // namespace cortado::harness
