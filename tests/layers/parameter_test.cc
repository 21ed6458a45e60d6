#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase parameter(const std::string& shape) {
  return {
      .layer = "type: 'Parameter' parameter_param { shape { " + shape + " } }",
      .x = {},
      .reference = [](const Arrays&, const Arrays& w) -> Arrays { return {w[0]}; },
  };
}

TEST(Parameter, IsItsWeight) { check_layer(parameter("dim: 2 dim: 3 dim: 4 dim: 2")); }
TEST(Parameter, MayBeAScalar) { check_layer(parameter("")); }

TEST(Parameter, StartsAsZeros) {
  const MadeLayer made(parameter("dim: 2").layer, "", {});
  EXPECT_EQ(made.shapes.w[0].filler.type(), "constant");
  EXPECT_EQ(made.shapes.w[0].filler.value(), 0);
}

TEST(Parameter, ReportsAnInvalidShape) {
  expect_field_error(parameter("dim: 2 dim: -1").layer, {}, "parameter_param.shape", "-1 is negative");
}

}  // namespace
}  // namespace cortado::harness
