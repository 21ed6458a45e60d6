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

TEST(Parameter, IsRepeatedForTheSamplesOfABottom) {
  for (const int64_t samples : {1, 3, 40}) {
    LayerCase repeated = parameter("dim: 2 dim: 3");
    repeated.layer += " bottom: 'x' top: 'y'";
    repeated.x = {random({samples, 5}, 1)};
    repeated.reference = [](const Arrays& x, const Arrays& w) -> Arrays {
      Array y({x[0].shape[0], 2, 3});
      for (size_t i = 0; i < y.size(); ++i) y[i] = w[0][i % 6];
      return {y};
    };
    check_layer(repeated);
  }
}

TEST(Parameter, StartsAsZeros) {
  const MadeLayer made(parameter("dim: 2").layer, "", {});
  EXPECT_EQ(made.shapes.w[0].filler.type(), "constant");
  EXPECT_EQ(made.shapes.w[0].filler.value(), 0);
}

TEST(Parameter, StartsWithItsFiller) {
  const std::string text = "type: 'Parameter' parameter_param { shape { dim: 2 } blob_filler { type: ";
  EXPECT_EQ(MadeLayer(text + "'gaussian' std: 3 } }", "", {}).shapes.w[0].filler.std(), 3);
  expect_field_error(text + "'none' } }", {}, "parameter_param.blob_filler.type", "'none' is unknown");
}

TEST(Parameter, ReportsAnInvalidShape) {
  expect_field_error(parameter("dim: 2 dim: -1").layer, {}, "parameter_param.shape", "-1 is negative");
}

}  // namespace
}  // namespace cortado::harness
