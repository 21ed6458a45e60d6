#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase exponential(const std::string& options, double base, double scale, double shift,
                      const Shape& shape = {2, 20, 3, 2}) {
  return {
      .layer = "type: 'Exp' exp_param { " + options + " }",
      .x = {random(shape, 1, -2, 2)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [=](double v) { return std::pow(base, shift + scale * v); })};
      },
      .channels_last = true,
  };
}

const double kE = std::exp(1.0);

TEST(Exp, IsAPowerOfEWithoutOptions) { check_layer(exponential("", kE, 1, 0)); }
TEST(Exp, BaseMinusOneIsE) { check_layer(exponential("base: -1 scale: 0.5 shift: 1", kE, 0.5, 1)); }
TEST(Exp, TakesOtherBases) { check_layer(exponential("base: 2 scale: -1.5 shift: 0.5", 2, -1.5, 0.5)); }
TEST(Exp, TakesBasesBelowOne) { check_layer(exponential("base: 0.25", 0.25, 1, 0)); }
TEST(Exp, IsOneForBaseOne) { check_layer(exponential("base: 1 shift: 3", 1, 1, 3)); }
TEST(Exp, RunsInFullBlocks) { check_layer(exponential("", kE, 1, 0, {1, 16, 2, 2})); }

TEST(Exp, RejectsBasesWithoutLogarithm) {
  for (const std::string base : {"0", "-2", "nan", "inf"})
    expect_field_error("type: 'Exp' exp_param { base: " + base + " }", {{2}}, "exp_param.base", "base is " + base);
}

}  // namespace
}  // namespace cortado::harness
