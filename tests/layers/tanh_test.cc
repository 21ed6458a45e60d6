#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

TEST(TanH, IsTheHyperbolicTangent) {
  check_layer({
      .layer = "type: 'TanH'",
      .x = {random({2, 20, 3, 3}, 1, -3, 3)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [](double v) { return std::tanh(v); })};
      },
      .channels_last = true,
  });
}

}  // namespace
}  // namespace cortado::harness
