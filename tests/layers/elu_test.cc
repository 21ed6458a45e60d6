#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase elu(const std::string& options, double alpha, double lambda) {
  return {
      .layer = "type: 'ELU' elu_param { " + options + " }",
      .x = {keep_away(random({2, 20, 3, 3}, 1, -2, 2), 0)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [=](double v) { return lambda * (v > 0 ? v : alpha * (std::exp(v) - 1)); })};
      },
      .channels_last = true,
  };
}

TEST(ELU, BendsBelowZero) { check_layer(elu("", 1, 1)); }
TEST(ELU, ReachesMinusAlpha) { check_layer(elu("alpha: 0.5", 0.5, 1)); }
TEST(ELU, IsReluWithoutAlpha) { check_layer(elu("alpha: 0", 0, 1)); }
TEST(ELU, NeedsXForNegativeAlpha) { check_layer(elu("alpha: -0.5", -0.5, 1)); }
TEST(ELU, IsSeluWithLambda) { check_layer(elu("alpha: 1.6733 lambda: 1.0507", 1.6733, 1.0507)); }

}  // namespace
}  // namespace cortado::harness
