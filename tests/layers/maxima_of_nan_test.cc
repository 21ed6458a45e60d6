// Maxima propagate NaN, wherever it is: a maximum that ignored it would hide a training that has diverged.

#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// On the CPU for some layouts and types, and on the tested devices.
std::vector<RunOptions> variants() {
  std::vector<RunOptions> all;
  for (const DType dtype : {DType::kF32, DType::kBF16}) all.push_back({.dtype = dtype});
  all.push_back({.layout = Layout::kBlocked16});
  for (const Device device : tested_devices()) all.push_back({.device = device});
  return all;
}

Arrays outputs(const std::string& layer, const Arrays& x, RunOptions options) {
  options.backward = false;
  LayerRun run(layer, x, options);
  run.forward();
  return run.y();
}

/// y[0] with NaN at x[of][at] is NaN in exactly those places that change if x[of][at] is large.
void expect_propagation(const std::string& layer, const Arrays& x, size_t of, const RunOptions& options) {
  const Array whole = outputs(layer, x, options)[0];
  for (size_t at = 0; at < x[of].size(); ++at) {
    Arrays large = x, broken = x;
    large[of][at] = 1000;
    broken[of][at] = NAN;
    const Array reached = outputs(layer, large, options)[0], y = outputs(layer, broken, options)[0];
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(std::isnan(y[i]), reached[i] != whole[i]) << layer << ": x[" << of << "][" << at << "], y[" << i << "]";
  }
}

TEST(MaximaOfNan, Eltwise) {
  const std::string layer = "type: 'Eltwise' eltwise_param { operation: MAX }";
  for (const RunOptions& options : variants())
    for (const size_t bottoms : {2, 3})
      for (size_t of = 0; of < bottoms; ++of) {
        Arrays x;  // 70 values of a plane: whole vectors and a rest
        for (size_t i = 0; i < bottoms; ++i) x.push_back(random({1, 1, 7, 10}, i + 1, -1, 1));
        expect_propagation(layer, x, of, options);
      }
}

TEST(MaximaOfNan, EltwiseGivesItsGradientToNan) {
  const std::string layer = "type: 'Eltwise' eltwise_param { operation: MAX }";
  for (size_t of = 0; of < 3; ++of) {
    Arrays x(3, Array({1, 1, 1, 2}, 1.0));
    x[of][0] = NAN;
    LayerRun run(layer, x);
    run.forward();
    run.backward({Array({1, 1, 1, 2}, 2.0)});
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(run.dx(i)[0], i == of ? 2 : 0) << of << " " << i;
  }
}

TEST(MaximaOfNan, Pools) {
  for (const RunOptions& options : variants())
    for (const char* layer : {"type: 'Pooling' pooling_param { kernel_size: 2 stride: 2 }",
                              "type: 'Pooling' pooling_param { kernel_size: 3 stride: 2 }",
                              "type: 'Pooling' pooling_param { global_pooling: true }"})
      expect_propagation(layer, {random({1, 18, 4, 5}, 3, -1, 1)}, 0, options);
}

TEST(MaximaOfNan, Spp) {
  expect_propagation("type: 'SPP' spp_param { pyramid_height: 2 }", {random({1, 18, 4, 5}, 3, -1, 1)}, 0, {});
}

TEST(MaximaOfNan, PoolsOfVolumes) {
  for (const Device device : tested_devices())
    for (const char* layer : {"type: 'Pooling3D' pooling_param { kernel_size: 2 kernel_depth: 2 stride: 1 }",
                              "type: 'PoolingND' pooling_nd_param { kernel_size: 2 stride: 1 }"})
      for (const RunOptions& options : {RunOptions{}, RunOptions{.device = device}})
        expect_propagation(layer, {random({1, 2, 3, 3, 3}, 3, -1, 1)}, 0, options);
}

TEST(MaximaOfNan, RoiPooling) {
  const Array regions({2, 5}, {0, 0, 0, 3, 3, 0, 1, 1, 3, 2});
  for (const Device device : tested_devices())
    for (const RunOptions& options : {RunOptions{}, RunOptions{.device = device}})
      expect_propagation("type: 'ROIPooling' roi_pooling_param { pooled_h: 2 pooled_w: 2 }",
                         {random({1, 3, 4, 4}, 3, -1, 1), regions}, 0, options);
}

}  // namespace
}  // namespace cortado::harness
