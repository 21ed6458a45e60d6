#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// The conversions of layouts and types are tested in tests/kernels/reorder_test.cc.
TEST(Reorder, KeepsAllValues) {
  check_layer({
      .layer = "type: 'Reorder'",
      .x = {random({2, 20, 3, 4}, 1)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays { return {x[0]}; },
  });
}

}  // namespace
}  // namespace cortado::harness
