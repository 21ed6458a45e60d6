#include <gtest/gtest.h>

#include "tests/harness/any_pooling.h"

namespace cortado::harness {
namespace {

TEST(PoolingND, TakesUpToThreeAxes) {
  const std::string message = "pooling_nd_param";
  check_pooling("PoolingND", message, "kernel_size: 2 stride: 2", {2, 3, 4, 5, 6}, {{2, 2}, {2, 2}, {2, 2}});
  check_pooling("PoolingND", message, "kernel_size: [1, 2, 3] stride: [1, 2, 2] pad: [0, 1, 1]", {1, 2, 3, 5, 6},
                {{1}, {2, 2, 1}, {3, 2, 1}});
  check_pooling("PoolingND", message, "kernel_size: [3, 2] pad: 1", {1, 2, 3, 4}, {{3, 1, 1}, {2, 1, 1}});
  check_pooling("PoolingND", message, "kernel_size: 3 stride: 2", {2, 2, 6}, {{3, 2}});
}

TEST(PoolingND, ReportsErrors) {
  const std::string p = "pooling_nd_param";
  const auto refuses = [&](const std::string& options, const std::string& field, const std::string& words,
                           const Shape& x = {1, 2, 4, 4, 4}) {
    SCOPED_TRACE(options);
    expect_field_error("type: 'PoolingND' pooling_nd_param { " + options + " }", {x}, field, words);
  };
  refuses("", p, "window size is missing");
  refuses("kernel_size: 0", p + ".kernel_size", "the window is 0");
  refuses("kernel_size: 2 stride: 0", p + ".stride", "the stride is 0");
  refuses("kernel_size: 2 pad: 2", p + ".pad", "not smaller");
  refuses("kernel_size: [2, 2]", p + ".kernel_size[1]", "2 values for 3 axes");
  refuses("kernel_size: 2 pool: STOCHASTIC", p + ".pool", "MAX and AVE");
  refuses("kernel_size: 2", "bottom[0]", "its shape is 1x2x4x4x4x4", {1, 2, 4, 4, 4, 4});
  refuses("kernel_size: 2", "bottom[0]", "N x C x D x H x W", {1, 2});
}

}  // namespace
}  // namespace cortado::harness
