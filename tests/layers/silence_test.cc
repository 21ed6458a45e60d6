#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

TEST(Silence, AcceptsAnyBottoms) {
  LayerRun run("type: 'Silence'", {random({2, 3}, 1), random({4}, 2)});
  run.forward();
  EXPECT_TRUE(run.y().empty());
  EXPECT_FALSE(run.layer().differentiable(0));
}

}  // namespace
}  // namespace cortado::harness
