// What cuDNN makes of our convolutions on an H100 that need not be here: the library ranks engines and makes plans for
// a GPU that is described to it. Nothing runs.

#ifdef CORTADO_WITH_CUDA

#include <gtest/gtest.h>

#include "kernels/conv.h"
#include "kernels/cuda_options.h"
#include "tests/kernels/operand.h"

namespace cortado::kernels {
namespace {

using testing::relu_if;

constexpr const char* kH100 = R"({"cudaDeviceId": 0, "deviceName": "NVIDIA H100 80GB HBM3", "deviceVer": 900,
  "driverVer": 13000, "isTccDriver": 0, "l2CacheSize": 52428800, "maxBlockSize": [1024, 1024, 64],
  "maxCtasPerSM": 32, "maxGridSize": [2147483647, 65535, 65535], "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448, "maxThreadsPerBlock": 1024,
  "maxThreadsPerSM": 2048, "memClockRateKHz": 2619000, "multiProcessorCount": 132, "pciDeviceId": 9008,
  "regsPerBlock": 65536, "reservedSharedMemoryPerBlock": 1024, "smClockRateKHz": 1980000, "supportCoopLaunch": 1,
  "totalGlobalMem": 85017493504, "warpSize": 32})";

Context h100(Precision precision) {
  Context context(1);
  context.device = {DeviceKind::kCuda, 0};
  context.precision = precision;
  context.handle<CudaOptions>().described_gpu = kH100;
  return context;
}

struct Case {
  int64_t channels, size, filters, kernel, stride = 1, groups = 1;
};
// Of ResNet-50, LeNet, CIFAR10-quick, MobileNet and ResNeXt-50.
const Case kCases[] = {{3, 224, 64, 7, 2},   {64, 56, 64, 1},        {64, 56, 64, 3},        {64, 56, 256, 1},
                       {128, 56, 128, 3, 2}, {1024, 14, 2048, 1, 2}, {512, 7, 512, 3},       {1, 28, 20, 5},
                       {20, 12, 50, 5},      {3, 32, 32, 5},         {96, 56, 96, 3, 1, 96}, {128, 28, 128, 3, 1, 32}};

ConvShape shape_of(const Case& c, DType dtype, Layout layout) {
  const ConvAxis axis{c.size, c.kernel, c.stride, c.kernel / 2};
  return {.n = 64,
          .c = c.channels,
          .k = c.filters,
          .groups = c.groups,
          .h = axis,
          .w = axis,
          .x_layout = layout,
          .y_layout = layout,
          .dtype = dtype};
}

/// What the library's first choice makes of a request; a test's failure where it declines.
std::unique_ptr<ConvKernel> planned(const ConvRequest& request, ConvDirection direction, Precision precision) {
  const ConvCandidate& first = device_conv_candidates().front();
  EXPECT_EQ(first.name, "cudnn");
  Context context = h100(precision);
  std::string why;
  auto kernel = first.make(request, direction, context, why);
  EXPECT_TRUE(kernel) << describe(request, direction) << " in " << name_of(precision) << ": " << why;
  return kernel;
}

constexpr std::pair<Precision, DType> kPrecisions[] = {{Precision::kFp32, DType::kF32},
                                                       {Precision::kTf32, DType::kF32},
                                                       {Precision::kBf16, DType::kBF16},
                                                       {Precision::kFp16, DType::kF16}};

TEST(CudnnPlans, ThereIsOneForEachDirectionInEachPrecisionAndLayout) {
  for (const auto& [precision, dtype] : kPrecisions)
    for (const Case& c : kCases)
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
        for (const ConvDirection direction :
             {ConvDirection::kForward, ConvDirection::kBackwardData, ConvDirection::kBackwardWeights})
          planned({.shape = shape_of(c, dtype, layout)}, direction, precision);
}

TEST(CudnnPlans, BackwardOfDenseSixteenBitConvolutionsCopiesNoImages) {
  for (const auto& [precision, dtype] : {kPrecisions[2], kPrecisions[3]})
    for (const Case& c : kCases) {
      if (c.groups > 1 || c.channels % 8 != 0) continue;  // others are padded or spread out
      const ConvShape shape = shape_of(c, dtype, Layout::kChannelsLast);
      for (const ConvDirection direction : {ConvDirection::kBackwardData, ConvDirection::kBackwardWeights})
        if (const auto kernel = planned({.shape = shape}, direction, precision)) {
          EXPECT_LT(kernel->scratch(), int64_t(16) << 20) << describe({.shape = shape}, direction);
        }
    }
}

/// A frozen net's convolution with what follows it.
ConvRequest frozen(const Case& c, DType dtype, bool sum, bool relu) {
  ConvRequest request{.shape = shape_of(c, dtype, Layout::kChannelsLast)};
  request.bias = request.frozen = true;
  request.post = relu_if(relu, sum);
  return request;
}

TEST(CudnnPlans, WhatFollowsAConvolutionIsInItsEngine) {
  for (const auto& [precision, dtype] : kPrecisions)
    for (const Case& c : kCases)
      for (const bool sum : {false, true})
        for (const bool relu : {false, true}) {
          const ConvRequest request = frozen(c, dtype, sum, relu);
          const auto kernel = planned(request, ConvDirection::kForward, precision);
          if (!kernel) continue;
          SCOPED_TRACE(describe(request, ConvDirection::kForward) + " in " + name_of(precision));
          EXPECT_TRUE(kernel->name().ends_with(" fused")) << kernel->name();
          if (dtype != DType::kF32 && c.channels % 8 == 0 && c.filters % 8 == 0) {
            EXPECT_LT(kernel->scratch(), 4096);  // no copies of anything
          }
        }
}

}  // namespace
}  // namespace cortado::kernels

#endif
