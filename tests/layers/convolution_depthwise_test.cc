#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Windows of 1 x 1: each channel is multiplied by its own factor.
TEST(ConvolutionDepthwise, HasOneFilterForEachChannel) {
  check_layer({
      .layer = "type: 'ConvolutionDepthwise' convolution_param { kernel_size: 1 }",
      .x = {random({2, 20, 3, 2}, 1)},
      .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
        Array y = x[0];
        for (size_t i = 0; i < y.size(); ++i) y[i] = y[i] * w[0][i / 6 % 20] + w[1][i / 6 % 20];
        return {y};
      },
      .same_bits_for_any_threads = false,
  });
}

TEST(ConvolutionDepthwise, DoesNotReadNumOutputAndGroup) {
  check_layer({
      .layer = "type: 'ConvolutionDepthwise' convolution_param { num_output: 64 group: 32 kernel_size: 1 }",
      .x = {random({2, 6, 3, 2}, 1)},
      .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
        Array y = x[0];
        for (size_t i = 0; i < y.size(); ++i) y[i] = y[i] * w[0][i / 6 % 6] + w[1][i / 6 % 6];
        return {y};
      },
      .same_bits_for_any_threads = false,
  });
}

}  // namespace
}  // namespace cortado::harness
