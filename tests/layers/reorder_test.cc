#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// What moves between layouts and types is the kernels' (tests/kernels/reorder_test.cc).
TEST(Reorder, ChangesNoValue) {
  check_layer({
      .layer = "type: 'Reorder'",
      .x = {random({2, 20, 3, 4}, 1)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays { return {x[0]}; },
  });
}

}  // namespace
}  // namespace cortado::harness
