#include <gtest/gtest.h>

#include "tests/harness/any_pooling.h"

namespace cortado::harness {
namespace {

TEST(Pooling3D, IsTheDefinition) {
  for (const std::string message : {"pooling_param", "pooling3d_param"}) {
    check_pooling("Pooling3D", message, "kernel_size: 2 kernel_depth: 1 stride: 2", {2, 3, 4, 5, 6},
                  {{1}, {2, 2}, {2, 2}});
    check_pooling("Pooling3D", message, "kernel_size: 3 kernel_depth: 2 stride: 2 temporal_stride: 2 pad: 1",
                  {1, 2, 3, 4, 5}, {{2, 2}, {3, 2, 1}, {3, 2, 1}});
    check_pooling("Pooling3D", message, "kernel_size: 2 kernel_depth: 3 temporal_pad: 1", {1, 2, 3, 4, 3},
                  {{3, 1, 1}, {2}, {2}});
  }
}

TEST(Pooling3D, HasP3DsNames) {
  check_pooling("Pooling3D", "pooling3d_param", "kernel_size: 3 kernel_l: 2 stride: 2 stride_l: 2 pad: 1",
                {1, 2, 3, 4, 5}, {{2, 2}, {3, 2, 1}, {3, 2, 1}});
  check_pooling("Pooling3D", "pooling3d_param",
                "kernel_h: 2 kernel_w: 3 kernel_l: 3 stride_h: 1 stride_w: 2 pad_h: 0 pad_w: 1 pad_l: 1",
                {1, 2, 3, 4, 5}, {{3, 1, 1}, {2}, {3, 2, 1}});
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'Pooling3D' pooling3d_param { " + options + " }", {{1, 2, 4, 4, 4}},
                       "pooling3d_param" + field, words);
  };
  refuses("kernel_size: 2 kernel_l: 2 kernel_depth: 2", ".kernel_l", "it contradicts kernel_depth");
  refuses("kernel_size: 2 kernel_l: 2 kernel_h: 2", ".kernel_h", "it contradicts kernel_size");
  refuses("kernel_l: 2 kernel_h: 2", "", "kernel_size is missing");
  refuses("kernel_size: 2 kernel_l: 2 global_pooling: true", ".global_pooling", "not supported");
  refuses("kernel_size: 2 kernel_l: 9", ".kernel_l", "larger than its padded input");
}

TEST(Pooling3D, ReportsErrors) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words,
                          const Shape& x = {1, 2, 4, 4, 4}) {
    for (const std::string message : {"pooling_param", "pooling3d_param"}) {
      SCOPED_TRACE(options);
      expect_field_error("type: 'Pooling3D' " + message + " { " + options + " }", {x},
                         field.starts_with("bottom") ? field : message + field, words);
    }
  };
  refuses("kernel_size: 2", "", "kernel_depth is missing");
  refuses("kernel_depth: 2", "", "kernel_size is missing");
  refuses("kernel_size: 2 kernel_depth: 0", ".kernel_depth", "the window is 0");
  refuses("kernel_size: 2 kernel_depth: 2 temporal_stride: 0", ".temporal_stride", "the stride is 0");
  refuses("kernel_size: 2 kernel_depth: 2 temporal_pad: 2", ".temporal_pad", "not smaller");
  refuses("kernel_size: 9 kernel_depth: 2", ".kernel_size", "larger than its padded input 4, on axis 3");
  refuses("kernel_size: 4000000000 kernel_depth: 2 pad: 3999999999", ".kernel_depth", "too large");
  refuses("kernel_size: 2 kernel_depth: 2 pool: STOCHASTIC", ".pool", "MAX and AVE");
  refuses("kernel_size: 2 kernel_depth: 2", "bottom[0]", "need N x C x D x H x W", {1, 2, 4, 4});
  const std::string window = "type: 'Pooling3D' pooling_param { kernel_size: 2 kernel_depth: 2 ";
  expect_field_error(window + "global_pooling: true }", {{1, 2, 4, 4, 4}}, "pooling_param.global_pooling",
                     "not available");
  expect_field_error(window + "} pooling3d_param { }", {{1, 2, 4, 4, 4}}, "pooling_param",
                     "contradicts pooling3d_param");
}

}  // namespace
}  // namespace cortado::harness
