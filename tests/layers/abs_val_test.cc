#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

TEST(AbsVal, IsTheAbsoluteValue) {
  check_layer({
      .layer = "type: 'AbsVal'",
      .x = {keep_away(random({2, 20, 3, 3}, 1), 0)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [](double v) { return std::fabs(v); })};
      },
      .channels_last = true,
  });
}

}  // namespace
}  // namespace cortado::harness
