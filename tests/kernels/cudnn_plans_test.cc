// cuDNN's engines for our convolutions on a described H100, which need not be present: the library ranks engines and
// builds plans for it. Nothing runs. Engines that are compiled at planning are offered only if a driver library exists.
// The toolkit's stub is sufficient for ranking, but not for loading. Tests of such engines are skipped without either.

#ifdef CORTADO_WITH_CUDA

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/conv.h"
#include "kernels/cuda/cudnn_engines.h"
#include "kernels/cuda_options.h"
#include "kernels/kernel_cache.h"
#include "tests/kernels/cudnn_fusions.h"
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

struct H100 : Context {
  explicit H100(Precision precision)
      : Context({.device = {DeviceKind::kCuda, 0}, .precision = precision, .runs = false}) {
    handle<CudaOptions>().described_gpu = kH100;
  }
};

struct Case {
  int64_t channels, size, filters, kernel, stride = 1, groups = 1;
};
// Shapes of ResNet-50, LeNet, CIFAR10-quick, MobileNet and ResNeXt-50.
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

const ConvCandidate& cudnn_candidate() {
  const ConvCandidate& first = device_conv_candidates().front();
  EXPECT_EQ(first.name, "cudnn");
  return first;
}

/// The engines for a request, by name.
std::vector<ConvCandidate> engines_of(const ConvRequest& request, ConvDirection direction, Context& context) {
  std::string why;
  auto engines = cudnn_candidate().engines(request, direction, context, why);
  EXPECT_FALSE(engines.empty()) << describe(request, direction) << ": " << why;
  return engines;
}

/// The first precompiled engine; fails the test if there is none.
std::unique_ptr<ConvKernel> planned(const ConvRequest& request, ConvDirection direction, Precision precision) {
  H100 context(precision);
  std::string why;
  for (const ConvCandidate& engine : engines_of(request, direction, context))
    if (!engine.compiles)
      if (auto kernel = engine.make(request, direction, context, why)) return kernel;
  ADD_FAILURE() << describe(request, direction) << " in " << name_of(precision) << ": " << why;
  return nullptr;
}

bool is_fused(const ConvCandidate& engine) { return engine.name.starts_with("cudnn-fused-e"); }

constexpr std::pair<Precision, DType> kPrecisions[] = {{Precision::kFp32, DType::kF32},
                                                       {Precision::kTf32, DType::kF32},
                                                       {Precision::kBf16, DType::kBF16},
                                                       {Precision::kFp16, DType::kF16}};

constexpr ConvDirection kDirections[] = {ConvDirection::kForward, ConvDirection::kBackwardData,
                                         ConvDirection::kBackwardWeights};

TEST(CudnnPlans, ExistForEachDirectionPrecisionAndLayout) {
  for (const auto& [precision, dtype] : kPrecisions)
    for (const Case& c : kCases)
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
        for (const ConvDirection direction : kDirections)
          planned({.shape = shape_of(c, dtype, layout)}, direction, precision);
}

TEST(CudnnPlans, BackwardOfDenseSixteenBitConvolutionsCopiesNoImages) {
  for (const auto& [precision, dtype] : {kPrecisions[2], kPrecisions[3]})
    for (const Case& c : kCases) {
      if (c.groups > 1 || c.channels % 8 != 0) continue;  // others are padded or expanded
      const ConvShape shape = shape_of(c, dtype, Layout::kChannelsLast);
      for (const ConvDirection direction : {ConvDirection::kBackwardData, ConvDirection::kBackwardWeights})
        if (const auto kernel = planned({.shape = shape}, direction, precision)) {
          EXPECT_LT(kernel->scratch(), int64_t(16) << 20) << describe({.shape = shape}, direction);
        }
    }
}

/// A frozen net's convolution with post-ops.
ConvRequest frozen(const Case& c, DType dtype, bool sum, bool relu) {
  ConvRequest request{.shape = shape_of(c, dtype, Layout::kChannelsLast)};
  request.bias = request.frozen = true;
  request.post = relu_if(relu, sum);
  return request;
}

TEST(CudnnPlans, FuseBiasAndPostOps) {
  for (const auto& [precision, dtype] : kPrecisions)
    for (const Case& c : kCases)
      for (const bool sum : {false, true})
        for (const bool relu : {false, true}) {
          const ConvRequest request = frozen(c, dtype, sum, relu);
          const auto kernel = planned(request, ConvDirection::kForward, precision);
          if (!kernel) continue;
          SCOPED_TRACE(describe(request, ConvDirection::kForward) + " in " + name_of(precision));
          EXPECT_TRUE(kernel->name().starts_with("cudnn-fused-e")) << kernel->name();
          if (dtype != DType::kF32 && c.channels % 8 == 0 && c.filters % 8 == 0) {
            EXPECT_LT(kernel->scratch(), 4096);  // no copies
          }
        }
}

TEST(CudnnPlans, FuseSumsInFp16) {
  for (const Case& c : kCases) {
    if (c.groups > 1 || c.channels % 8 != 0 || c.filters % 8 != 0) continue;
    // The filters are in 16 bits, as updates write them.
    const ConvRequest request{.shape = shape_of(c, DType::kF16, Layout::kChannelsLast), .frozen = true, .sums = true};
    const auto kernel = planned(request, ConvDirection::kForward, Precision::kFp16);
    if (!kernel) continue;
    EXPECT_TRUE(kernel->name().starts_with("cudnn-fused-e")) << kernel->name();
    EXPECT_LT(kernel->scratch(), int64_t(2) << 20) << describe(request, ConvDirection::kForward);
  }
}

TEST(CudnnPlans, RunSumsSeparatelyWithoutAnEngine) {
  for (const auto& [precision, dtype] : kPrecisions)
    for (const Case& c : kCases)
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
        planned({.shape = shape_of(c, dtype, layout), .sums = true}, ConvDirection::kForward, precision);
}

TEST(CudnnEngines, HaveNamesThatAreStableBetweenRankings) {
  const ConvRequest request{.shape = shape_of(kCases[2], DType::kF16, Layout::kChannelsLast)};
  for (const ConvDirection direction : kDirections) {
    H100 context(Precision::kFp16), fast(Precision::kFp16);
    fast.handle<CudaOptions>().fast = true;  // more engines, so that ranks differ
    const auto ranked = engines_of(request, direction, context), more = engines_of(request, direction, fast);
    for (size_t i = 0; i < ranked.size(); ++i)
      for (size_t k = 0; k < i; ++k) EXPECT_NE(ranked[i].name, ranked[k].name);
    for (const ConvCandidate& engine : ranked)
      EXPECT_TRUE(std::any_of(more.begin(), more.end(), [&](const auto& other) { return other.name == engine.name; }))
          << engine.name;
  }
}

/// The kernel chosen if the cache has `before`, and how it was chosen.
std::pair<std::string, std::string> chosen(const ConvRequest& request, const std::string& before) {
  H100 first(Precision::kFp16), second(Precision::kFp16);
  choose_conv_kernel(device_conv_candidates(), request, ConvDirection::kForward, first);
  const std::string problem = first.handle<KernelCache>().recorded().begin()->first;
  second.handle<KernelCache>().load({{problem, {before, "cache", 0}}});
  const auto kernel = choose_conv_kernel(device_conv_candidates(), request, ConvDirection::kForward, second);
  const KernelCache::Entry entry = second.handle<KernelCache>().recorded().at(problem);
  EXPECT_EQ(kernel->name(), entry.candidate);
  return {entry.candidate, entry.origin};
}

TEST(CudnnEngines, AreChosenByTheirCachedNames) {
  const ConvRequest request{.shape = shape_of(kCases[2], DType::kF16, Layout::kChannelsLast)};
  H100 context(Precision::kFp16);
  const auto ranked = engines_of(request, ConvDirection::kForward, context);
  ASSERT_GT(ranked.size(), 3u);
  const std::string third = ranked[2].name;
  EXPECT_EQ(chosen(request, third), std::pair(third, std::string("cache")));
  for (const char* old : {"cudnn", "cudnn-3", "cudnn-apart", "cudnn-e99999k1=2"})
    EXPECT_EQ(chosen(request, old), std::pair(ranked[0].name, std::string("model"))) << old;
}

class CudnnFusions : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!dlopen("libcuda.so.1", RTLD_NOW)) GTEST_SKIP() << "neither a driver library nor its stub in LD_LIBRARY_PATH";
  }
};

TEST_F(CudnnFusions, ReluOrSumWithoutBiasHasACompiledEngine) {
  for (const auto& [precision, dtype] : kPrecisions)
    for (const Case& c : {kCases[1], kCases[2], kCases[4]})
      for (const bool sum : {false, true})
        for (const bool relu : {false, true}) {
          if (!sum && !relu) continue;
          const ConvRequest request{.shape = shape_of(c, dtype, Layout::kChannelsLast), .post = relu_if(relu, sum)};
          H100 context(precision);
          const auto engines = engines_of(request, ConvDirection::kForward, context);
          SCOPED_TRACE(describe(request, ConvDirection::kForward) + " in " + name_of(precision));
          const auto fused = std::find_if(engines.begin(), engines.end(), is_fused);
          EXPECT_EQ(fused != engines.end(), precision != Precision::kFp32);
          EXPECT_FALSE(std::all_of(engines.begin(), engines.end(), is_fused)) << "and one apart";
          for (const ConvCandidate& engine : engines) EXPECT_TRUE(engine.compiles || !is_fused(engine)) << engine.name;
        }
}

TEST_F(CudnnFusions, SumsHaveACompiledEngineInBf16) {
  for (const Case& c : {kCases[1], kCases[2], kCases[4]}) {
    const ConvRequest request{.shape = shape_of(c, DType::kBF16, Layout::kChannelsLast), .sums = true};
    H100 context(Precision::kBf16);
    const auto engines = engines_of(request, ConvDirection::kForward, context);
    EXPECT_TRUE(std::any_of(engines.begin(), engines.end(), is_fused)) << describe(request, ConvDirection::kForward);
    EXPECT_FALSE(std::all_of(engines.begin(), engines.end(), is_fused)) << "and one apart";
  }
}

enum class Ranked { kNone, kCompiled, kReady };  ///< what the library offers; kReady: also precompiled engines

/// The ranking for dense convolutions whose channels are multiples of 8, in fp32, tf32, bf16 and fp16.
struct Offer {
  cudnn::Fusion fusion;
  Ranked in[4];
};

constexpr Ranked kNo = Ranked::kNone, kMade = Ranked::kCompiled, kReady = Ranked::kReady;
constexpr Offer kOffers[] = {
    {cudnn::Fusion::kRelu, {kNo, kMade, kMade, kMade}},
    {cudnn::Fusion::kSum, {kNo, kMade, kMade, kMade}},
    {cudnn::Fusion::kSumRelu, {kNo, kMade, kMade, kMade}},
    {cudnn::Fusion::kBiasRelu, {kReady, kReady, kReady, kReady}},
    {cudnn::Fusion::kAffineRelu, {kNo, kMade, kMade, kMade}},
    {cudnn::Fusion::kStatistics, {kNo, kMade, kMade, kReady}},
    {cudnn::Fusion::kOnStatistics, {kNo, kMade, kNo, kReady}},
    {cudnn::Fusion::kDataSum, {kNo, kMade, kMade, kMade}},
    {cudnn::Fusion::kDataRelu, {kNo, kMade, kMade, kMade}},
    {cudnn::Fusion::kDataSumRelu, {kNo, kMade, kMade, kMade}},
    {cudnn::Fusion::kAffineWeights, {kNo, kNo, kNo, kReady}},
};

Ranked ranked(cudnn::Fusion fusion, const Case& c, const std::pair<Precision, DType>& precision) {
  H100 context(precision.first);
  const cudnn::EngineLimits limits{.tensor_cores_on_floats = precision.first == Precision::kTf32,
                                   .floats = precision.second == DType::kF32,
                                   .fallback = false};
  cudnn::FusedGraph graph({64, c.channels, c.size, c.filters, c.kernel, c.stride}, cudnn::type_of(precision.second));
  Ranked best = Ranked::kNone;
  for (const cudnn::Engine& engine : cudnn::rank_engines(context, graph.make(fusion), limits))
    best = std::max(best, engine.compiles() ? Ranked::kCompiled : Ranked::kReady);
  return best;
}

TEST_F(CudnnFusions, AreRankedForDenseConvolutions) {
  static_assert(std::size(kOffers) == std::size(cudnn::kAllFusions));
  for (const Offer& offer : kOffers)
    for (int p = 0; p < 4; ++p)
      for (const Case& c : {kCases[1], kCases[2], kCases[4]}) {  // 1x1, 3x3, and 3x3 with stride 2
        SCOPED_TRACE(name_of(offer.fusion) + " in " + name_of(kPrecisions[p].first) + ", kernel " +
                     std::to_string(c.kernel) + ", stride " + std::to_string(c.stride));
        EXPECT_EQ(int(ranked(offer.fusion, c, kPrecisions[p])), int(offer.in[p]));
      }
}

}  // namespace
}  // namespace cortado::kernels

#endif
