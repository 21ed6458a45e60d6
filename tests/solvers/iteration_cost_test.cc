// Launches and bytes of nets that are small enough to be counted by hand, kernel by kernel.

#include "solvers/iteration_cost.h"

#include <gtest/gtest.h>

#include "proto/files/read_text.h"
#include "solvers/weight_update.h"

namespace cortado {
namespace {

/// 2 images of 16 channels in 4 x 4 places: 512 values.
constexpr const char* kNet = R"(
    name: "net"
    layer { name: "data" type: "Input" top: "data"
            input_param { shape { dim: 2 dim: 16 dim: 4 dim: 4 } shape { dim: 2 dim: 8 dim: 2 dim: 2 } } top: "label" }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
            convolution_param { num_output: 8 kernel_size: 1 stride: 2 bias_term: false } }
    layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "norm" }
    layer { name: "loss" type: "EuclideanLoss" bottom: "norm" bottom: "label" top: "loss" })";

IterationCost cost_of(Precision precision) {
  Context context({.device = {DeviceKind::kSimulated, 0}, .precision = precision});
  graph::BuildOptions options;
  options.state.set_phase(caffe::TRAIN);
  const auto file = std::make_shared<const NetFile>(read_net_from_text(kNet, "net"));
  const auto net = make_net(file, options, context);
  return iteration_cost(iteration_plan_of({}), *net);
}

const StepCost& step(const IterationCost& cost, const std::string& call, const std::string& layer) {
  for (const StepCost& step : cost.steps)
    if (step.call == call && step.layer == layer) return step;
  ADD_FAILURE() << "no step " << call << " " << layer;
  return cost.steps[0];
}

void expect_step(const IterationCost& cost, const std::string& call, const std::string& layer, int64_t launches,
                 const Traffic& traffic) {
  SCOPED_TRACE(call + " " + layer);
  const StepCost& found = step(cost, call, layer);
  EXPECT_EQ(found.launches, launches);
  EXPECT_EQ(found.traffic.read, traffic.read);
  EXPECT_EQ(found.traffic.written, traffic.written);
  EXPECT_FALSE(found.by_operands);
}

TEST(IterationCost, CountsWhatTheDeviceIsTold) {
  const IterationCost cost = cost_of(Precision::kFp32);
  // A quarter of x, the 128 filters, 64 results. Plain floats need no copies.
  expect_step(cost, "forward", "conv", 1, {4 * (128 + 128), 4 * 64});
  // x; the gradient of the data is not needed.
  expect_step(cost, "backward", "conv", 1, {4 * (128 + 64), 4 * 128});
  // One weight of 128 floats in one piece: the loss (its sum, their sum), the iteration's loss, the sums of squares of
  // the gradients (in 64 bits: of pieces, of all), the control, the update, which reads w, dw and the velocity and
  // writes w and the velocity.
  expect_step(cost, "update", "", 7, {4 * (1 + 1 + 128 + 3 * 128) + 8, 4 * (1 + 1 + 2 * 128) + 8 * (1 + 1)});
}

TEST(IterationCost, CountsTheCopiesThatLibrariesNeed) {
  const IterationCost cost = cost_of(Precision::kFp16);
  expect_step(cost, "forward", "data_as_channels_last_f16", 1, {4 * 512, 2 * 512});
  // The filters are there in 16 bits; their gradient is made so and copied. Two sums of each of the 8 channels, in one
  // share, then whole.
  expect_step(cost, "forward", "conv", 2, {2 * 128 + 2 * 128 + 4 * 16, 2 * 64 + 4 * (16 + 16)});
  expect_step(cost, "backward", "conv", 2, {2 * 128 + 2 * 64 + 2 * 128, 4 * 128 + 4 * 128});
  // And the filters in 16 bits.
  expect_step(cost, "update", "", 7, {4 * (1 + 1 + 128 + 3 * 128) + 8, 4 * (1 + 1 + 2 * 128) + 8 * (1 + 1) + 2 * 128});
}

TEST(IterationCost, ABatchNormIsThreeKernelsEachWay) {
  const IterationCost with_floats = cost_of(Precision::kTf32), cost = cost_of(Precision::kFp16);
  // x twice and y, of 64 values. 8 channels, 1 share: two sums of each are written and read; the second kernel reads
  // variance, factor and term (0 of them here: counted as 3) and the averages and the first value (3), and writes
  // slope, term, mean, variance and the averages (2 + 4); the third reads nothing else that is counted.
  expect_step(with_floats, "forward", "norm", 3, {4 * (2 * 64 + 16 + 8 * 6), 4 * (64 + 16 + 8 * 6)});
  // In 16 bits the convolution has found the sums: the first kernel is not there, nor what it moves.
  expect_step(cost, "forward", "norm", 2, {2 * 64 + 4 * (16 + 8 * 6), 2 * 64 + 4 * 8 * 6});
  // x and dy twice and dx; the sums; 3 numbers of each channel are read, 4 written.
  expect_step(cost, "backward", "norm", 3, {4 * 2 * 64 + 4 * (16 + 8 * 3), 2 * 64 + 4 * (16 + 8 * 4)});
}

TEST(IterationCost, AddsItsStepsUp) {
  const IterationCost cost = cost_of(Precision::kFp16);
  int64_t launches = 0;
  Traffic traffic;
  for (const StepCost& step : cost.steps) launches += step.launches, traffic += step.traffic;
  EXPECT_EQ(cost.launches, launches);
  EXPECT_EQ(cost.traffic, traffic);
  EXPECT_TRUE(step(cost, "forward", "loss").by_operands) << "its kernels do not count";
  EXPECT_EQ(step(cost, "forward", "loss").traffic, (Traffic{2 * 64 + 4 * 64, 4}));
}

}  // namespace
}  // namespace cortado
