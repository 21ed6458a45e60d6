#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase selu(const std::string& options, double alpha, double lambda) {
  return {
      .layer = "type: 'SeLu' selu_param { " + options + " }",
      .x = {keep_away(random({2, 20, 3, 3}, 1, -2, 2), 0)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [=](double v) { return v > 0 ? lambda * v : lambda * alpha * (std::exp(v) - 1); })};
      },
      .channels_last = true,
  };
}

TEST(SeLu, HasTheConstantsOfThePaper) { check_layer(selu("", 1.6732632423543772, 1.0507009873554805)); }
TEST(SeLu, TakesOthers) { check_layer(selu("alpha: 0.5 lambda: 2", 0.5, 2)); }
TEST(SeLu, AcceptsNegativeAlpha) { check_layer(selu("alpha: -0.5", -0.5, 1.0507009873554805)); }

}  // namespace
}  // namespace cortado::harness
