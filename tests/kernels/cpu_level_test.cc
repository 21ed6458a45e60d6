#include "kernels/cpu_level.h"

#include <gtest/gtest.h>

#include "kernels/conv.h"
#include "kernels/devices.h"
#include "kernels/kernel_cache.h"

namespace cortado::kernels {
namespace {

ConvRequest small_request() {
  const ConvAxis axis{14, 3, 1, 1, 1};
  ConvRequest request{
      .shape = {.n = 2, .c = 32, .k = 32, .h = axis, .w = axis}, .backward_data = true, .backward_weights = true};
  request.shape.x_layout = request.shape.y_layout = Layout::kBlocked16;
  return request;
}

/// How many candidates accept the request, in addition to the first.
int rivals(ConvRequest request, ConvDirection direction, Context& context) {
  int accept = 0;
  for (const ConvCandidate& candidate : conv_candidates()) {
    std::string why;
    accept += candidate.make(request, direction, context, why) != nullptr;
  }
  return accept - 1;
}

/// The choices for a request, with hardly any time for measurements.
std::map<std::string, KernelCache::Entry> chosen(const ConvRequest& request, const CpuLevels& levels,
                                                 double seconds = 1e-9) {
  Context context(2);
  context.handle<CpuLevels>() = levels;
  auto& choices = context.handle<KernelCache>();
  choices.set_budget(seconds);
  choices.begin_plan();
  choices.add_budget(1);
  plan_conv(request, context);
  return choices.recorded();
}

TEST(CpuLevel, OfOneDnnIsItsReportedLevel) {
  const std::string version = onednn_version();
  const CpuLevel level = onednn_level();
  EXPECT_EQ(level == CpuLevel::kAvx512, version.find("(avx512_core") != std::string::npos) << version;
  EXPECT_EQ(level == CpuLevel::kAvx2, version.find("(avx2") != std::string::npos) << version;
}

TEST(CpuLevel, UnknownRunsEveryCandidate) {
  const ConvRequest request = small_request();
  Context context(2);
  const auto taken = chosen(request, {CpuLevel::kUnknown, CpuLevel::kUnknown});
  ASSERT_EQ(taken.size(), 3u);
  for (const auto& [problem, choice] : taken) EXPECT_EQ(choice.origin, "measured") << problem;
  const auto& forward = taken.at(describe(request, ConvDirection::kForward) + " pieces 8");
  EXPECT_EQ(forward.rivals, rivals(request, ConvDirection::kForward, context));
  EXPECT_GE(forward.rivals, 2);
}

TEST(CpuLevel, KnownSkipsSmallProblems) {
  for (const CpuLevel level : {CpuLevel::kAvx2, CpuLevel::kAvx512})
    for (const auto& [problem, choice] : chosen(small_request(), {level, level}))
      EXPECT_EQ(choice.origin, "model") << problem << " on " << name_of(level);
}

/// A program for one level with a library limited to another. Weights are in blocks of 16: forward's fastest kernel may
/// choose a format that kernels of the other kind do not support.
TEST(CpuLevel, OfOnlyOneKindRunsGuesses) {
  ConvRequest request = small_request();
  request.w_format = WeightFormat::blocked16(request.shape.weight(), request.shape.groups);
  for (const CpuLevels levels :
       {CpuLevels{CpuLevel::kAvx2, CpuLevel::kUnknown}, CpuLevels{CpuLevel::kUnknown, CpuLevel::kAvx2}})
    for (const auto& [problem, choice] : chosen(request, levels)) {
      EXPECT_EQ(choice.origin, "measured") << problem;
      EXPECT_GE(choice.rivals, 1) << problem;
    }
}

TEST(CpuLevel, UnknownMeasuresNothingIfDisabled) {
  for (const auto& [problem, choice] : chosen(small_request(), {CpuLevel::kUnknown, CpuLevel::kUnknown}, 0))
    EXPECT_EQ(choice.origin, "model") << problem;
}

}  // namespace
}  // namespace cortado::kernels
