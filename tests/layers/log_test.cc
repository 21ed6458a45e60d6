#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase logarithm(const std::string& options, double base, double scale, double shift,
                    const Shape& shape = {2, 20, 3, 2}) {
  return {
      .layer = "type: 'Log' log_param { " + options + " }",
      .x = {random(shape, 1, 0.5, 3)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [=](double v) { return std::log(shift + scale * v) / std::log(base); })};
      },
      .channels_last = true,
  };
}

const double kE = std::exp(1.0);

TEST(Log, IsNaturalWithoutOptions) { check_layer(logarithm("", kE, 1, 0)); }
TEST(Log, BaseMinusOneIsE) { check_layer(logarithm("base: -1 scale: 0.5 shift: 2", kE, 0.5, 2)); }
TEST(Log, TakesOtherBases) { check_layer(logarithm("base: 10 scale: 2 shift: 0.5", 10, 2, 0.5)); }
TEST(Log, TakesBasesBelowOne) { check_layer(logarithm("base: 0.5 scale: -0.25 shift: 2", 0.5, -0.25, 2)); }
TEST(Log, RunsInPaddedBlocksWhereZeroStaysZero) { check_layer(logarithm("shift: 1", kE, 1, 1)); }
TEST(Log, RunsInFullBlocks) { check_layer(logarithm("", kE, 1, 0, {1, 16, 2, 2})); }

TEST(Log, RunsInPaddedBlocksOnlyIfZeroStaysZero) {
  const auto rule = [](const std::string& options) {
    return MadeLayer("type: 'Log' log_param { " + options + " }", "", {{2, 20, 3, 3}}).layer->storage({}).layout;
  };
  EXPECT_EQ(rule("shift: 1"), LayoutRule::kFollow);
  EXPECT_EQ(rule("shift: 2"), LayoutRule::kPlain);
}

TEST(Log, RejectsBasesWithoutLogarithm) {
  for (const std::string base : {"0", "1", "-2", "nan", "inf"})
    expect_field_error("type: 'Log' log_param { base: " + base + " }", {{2}}, "log_param.base", "base is " + base);
}

}  // namespace
}  // namespace cortado::harness
