#include "kernels/kernel_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kernels/conv.h"
#include "kernels/conv_benchmark.h"
#include "kernels/devices.h"

namespace cortado::kernels {
namespace {

ConvRequest some_request() {
  const ConvAxis axis{28, 3, 1, 1, 1};
  ConvRequest request{
      .shape = {.n = 4, .c = 64, .k = 64, .h = axis, .w = axis}, .backward_data = true, .backward_weights = true};
  request.shape.x_layout = request.shape.y_layout = Layout::kBlocked16;
  return request;
}

TEST(KernelCache, IsReproducibleWithoutMeasurements) {
  Context first(2), second(2);
  plan_conv(some_request(), first);
  plan_conv(some_request(), second);
  const auto &a = first.handle<KernelCache>().recorded(), &b = second.handle<KernelCache>().recorded();
  ASSERT_EQ(a.size(), 3u);
  for (const auto& [problem, choice] : a) {
    EXPECT_EQ(choice.candidate, b.at(problem).candidate);
    EXPECT_EQ(choice.origin, "model");
  }
}

TEST(KernelCache, MeasuresWithinItsBudget) {
  Context context(2);
  auto& choices = context.handle<KernelCache>();
  choices.set_budget(100);
  choices.begin_plan();
  choices.add_budget(1);
  ConvRequest request = some_request();
  for (const int64_t kernel : {1, 3, 5})
    for (const Layout layout : {Layout::kPlain, Layout::kBlocked16}) {
      request.shape.h = request.shape.w = {28, kernel, 1, kernel / 2, 1};
      request.shape.x_layout = request.shape.y_layout = layout;
      plan_conv(request, context);
    }
  // A problem is not measured if it is too small for this CPU, or if the estimates leave only one candidate.
  int measured = 0;
  for (const auto& [problem, choice] : choices.recorded()) {
    EXPECT_EQ(choice.seconds > 0, choice.origin == "measured") << problem;
    measured += choice.origin == "measured";
  }
  EXPECT_GT(measured, 0);
  EXPECT_LT(choices.budget(), 100);
}

TEST(KernelCache, MeasuresInDeviceMemory) {
  Context context({.threads = 2, .device = {DeviceKind::kSimulated, 0}});
  ConvRequest request = some_request();
  request.shape.x_layout = request.shape.y_layout = Layout::kChannelsLast;
  request.shape.n = 1;
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const auto direction :
         {ConvDirection::kForward, ConvDirection::kBackwardData, ConvDirection::kBackwardWeights}) {
      request.shape.dtype = dtype;
      std::string why;
      const auto kernel = plain_conv_candidate().make(request, direction, context, why);
      EXPECT_GT(ConvBenchmark(request, direction, context).time(*kernel, context, 0), 0);
    }
}

TEST(KernelCache, DeviceEntriesNameTheDevice) {
  Context context({.threads = 2, .device = {DeviceKind::kSimulated, 0}});
  ConvRequest request = some_request();
  request.shape.x_layout = request.shape.y_layout = Layout::kPlain;
  plan_conv(request, context);
  ASSERT_EQ(context.handle<KernelCache>().recorded().size(), 3u);
  for (const auto& [problem, choice] : context.handle<KernelCache>().recorded()) {
    EXPECT_NE(problem.find(" on " + device_description(context)), std::string::npos) << problem;
    EXPECT_EQ(problem.find("threads"), std::string::npos) << problem;
    EXPECT_EQ(choice.candidate, "plain");
  }
}

TEST(KernelCache, UsesLoadedEntriesIfPossible) {
  Context context(2), other(2);
  plan_conv(some_request(), context);
  std::map<std::string, KernelCache::Entry> wanted;
  for (const auto& [problem, choice] : context.handle<KernelCache>().recorded())
    wanted[problem] = {problem.find("forward") != std::string::npos ? "winograd2x5" : "gemm", "cache", 0};
  auto& choices = other.handle<KernelCache>();
  choices.load(wanted);
  const auto conv = plan_conv(some_request(), other);
  for (const auto& [problem, choice] : choices.recorded()) {
    const bool exists = wanted[problem].candidate == "gemm";
    EXPECT_EQ(choice.origin, exists ? "cache" : "model") << problem;
    EXPECT_EQ(choice.candidate == "gemm", exists) << problem << ": " << choice.candidate;
  }
  EXPECT_NE(conv->name().find("im2col"), std::string::npos) << conv->name();
}

TEST(KernelCache, SkipsExcludedCandidates) {
  Context context(2);
  context.handle<KernelCache>().exclude(ConvAlgorithm::kWinograd);
  const auto conv = plan_conv(some_request(), context);
  EXPECT_EQ(conv->name().find("wino"), std::string::npos) << conv->name();
  ConvRequest request = some_request();
  request.winograd = false;
  Context free(2);
  EXPECT_EQ(plan_conv(request, free)->name().find("wino"), std::string::npos);
}

TEST(KernelCache, FilesAreByMachineAndSurviveDamage) {
  const std::string path = ::testing::TempDir() + "choices_test.json";
  std::filesystem::remove(path);
  EXPECT_EQ(write_kernel_cache(path, "a", {{"p", {"gemm", "measured", 0.5}}}), "");
  EXPECT_EQ(write_kernel_cache(path, "a", {{"q", {"onednn", "model", 0}}}), "");
  EXPECT_EQ(write_kernel_cache(path, "b", {{"p", {"onednn", "model", 0}}}), "");
  const auto read = read_kernel_cache(path, "a");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read.at("p").candidate, "gemm");
  EXPECT_EQ(read.at("p").seconds, 0.5);
  EXPECT_EQ(read.at("q").origin, "cache");
  EXPECT_TRUE(read_kernel_cache(path, "c").empty());
  for (const char* damage :
       {"", "{", "[1]", "{\"a\": 3}", "{\"a\": {\"p\": 3, \"q\": {\"candidate\": 7}}}", "\xff\xfe"}) {
    std::ofstream(path) << damage;
    EXPECT_TRUE(read_kernel_cache(path, "a").empty()) << damage;
    for (const char* machine : {"z", "a"})
      EXPECT_EQ(write_kernel_cache(path, machine, {{"p", {"gemm", "measured", 0.5}}}), "") << damage;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace cortado::kernels
