// Estimates for AVX2 beside what candidates took there: two cores of an AMD EPYC (Zen 3), CPU seconds of both threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "kernels/conv.h"

namespace cortado::kernels {
namespace {

using enum ConvDirection;

struct Measured {
  ConvDirection direction;
  int64_t n, c, k, groups;
  struct {
    int64_t in, kernel, stride, pad;
  } axis;
  std::map<std::string, double> milliseconds;  ///< by candidate
};

const std::vector<Measured>& measured() {
  static const std::vector<Measured> all = {
      {kBackwardData,
       64,
       20,
       50,
       1,
       {12, 5, 1, 0},
       {{"winograd4x5", 5.1}, {"onednn-last", 5.7}, {"winograd2x5", 8.3}, {"gemm", 12.9}}},
      {kBackwardWeights, 64, 1, 20, 1, {28, 5, 1, 0}, {{"onednn-last", 1.7}, {"gemm", 11.4}}},
      {kBackwardWeights,
       64,
       20,
       50,
       1,
       {12, 5, 1, 0},
       {{"winograd4x5", 3.5}, {"onednn-last", 5.1}, {"winograd2x5", 5.9}, {"gemm", 14.1}}},
      {kForward, 64, 1, 20, 1, {28, 5, 1, 0}, {{"onednn-last", 1.1}, {"gemm", 12.3}}},
      {kForward,
       64,
       20,
       50,
       1,
       {12, 5, 1, 0},
       {{"winograd4x5", 2.2}, {"onednn-last", 2.9}, {"winograd2x5", 3.7}, {"gemm", 19.4}}},
      {kBackwardData,
       16,
       64,
       64,
       1,
       {56, 3, 1, 1},
       {{"winograd4x3", 29.4}, {"winograd6x3", 29.9}, {"gemm", 58.4}, {"onednn-last", 63.2}}},
      {kBackwardWeights,
       16,
       64,
       64,
       1,
       {56, 3, 1, 1},
       {{"winograd4x3", 35.3}, {"winograd6x3", 40.7}, {"gemm", 72.7}, {"onednn-last", 108.2}}},
      {kForward,
       16,
       64,
       64,
       1,
       {56, 3, 1, 1},
       {{"winograd4x3", 25.8}, {"winograd6x3", 35.7}, {"gemm", 69.4}, {"onednn-last", 74.5}}},
      {kBackwardData, 8, 256, 1024, 1, {14, 1, 1, 0}, {{"onednn-last", 12.3}, {"gemm", 16.1}}},
      {kBackwardData, 8, 256, 64, 1, {56, 1, 1, 0}, {{"gemm", 17.3}, {"onednn-last", 20.0}}},
      {kBackwardData, 8, 512, 1024, 1, {28, 1, 2, 0}, {{"onednn-last", 27.6}, {"gemm", 40.8}}},
      {kBackwardData,
       8,
       512,
       512,
       1,
       {7, 3, 1, 1},
       {{"winograd4x3", 15.8}, {"winograd6x3", 29.8}, {"onednn-last", 43.7}, {"gemm", 51.7}}},
      {kBackwardWeights, 8, 256, 1024, 1, {14, 1, 1, 0}, {{"gemm", 13.8}, {"onednn-last", 20.5}}},
      {kBackwardWeights, 8, 256, 64, 1, {56, 1, 1, 0}, {{"gemm", 16.5}, {"onednn-last", 19.0}}},
      {kBackwardWeights, 8, 3, 64, 1, {224, 7, 2, 3}, {{"onednn-last", 50.0}, {"gemm", 52.4}}},
      {kBackwardWeights, 8, 512, 1024, 1, {28, 1, 2, 0}, {{"gemm", 22.7}, {"onednn-last", 43.4}}},
      {kBackwardWeights,
       8,
       512,
       512,
       1,
       {7, 3, 1, 1},
       {{"gemm", 34.4}, {"winograd4x3", 35.2}, {"onednn-last", 52.2}, {"winograd6x3", 67.0}}},
      {kForward, 8, 256, 1024, 1, {14, 1, 1, 0}, {{"gemm", 12.5}, {"onednn-last", 18.1}}},
      {kForward, 8, 256, 64, 1, {56, 1, 1, 0}, {{"gemm", 15.8}, {"onednn-last", 18.0}}},
      {kForward, 8, 3, 64, 1, {224, 7, 2, 3}, {{"onednn-last", 35.6}, {"gemm", 46.1}}},
      {kForward, 8, 512, 1024, 1, {28, 1, 2, 0}, {{"onednn-last", 24.7}, {"gemm", 31.9}}},
      {kForward,
       8,
       512,
       512,
       1,
       {7, 3, 1, 1},
       {{"winograd4x3", 20.5}, {"gemm", 31.4}, {"winograd6x3", 36.9}, {"onednn-last", 38.9}}},
      {kBackwardData,
       32,
       96,
       256,
       2,
       {27, 5, 1, 2},
       {{"winograd4x5", 63.1}, {"winograd2x5", 112.9}, {"onednn-last", 230.9}, {"gemm", 234.8}}},
      {kBackwardWeights,
       32,
       96,
       256,
       2,
       {27, 5, 1, 2},
       {{"winograd4x5", 97.3}, {"winograd2x5", 173.5}, {"onednn-last", 200.9}, {"gemm", 205.9}}},
      {kForward,
       32,
       96,
       256,
       2,
       {27, 5, 1, 2},
       {{"winograd4x5", 84.4}, {"winograd2x5", 130.6}, {"onednn-last", 184.2}, {"gemm", 329.5}}},
      {kBackwardData,
       100,
       32,
       64,
       1,
       {8, 5, 1, 2},
       {{"winograd4x5", 4.3}, {"winograd2x5", 6.7}, {"onednn-last", 7.7}, {"gemm", 21.1}}},
      {kBackwardWeights,
       100,
       32,
       64,
       1,
       {8, 5, 1, 2},
       {{"winograd4x5", 4.7}, {"winograd2x5", 9.2}, {"onednn-last", 11.8}, {"gemm", 20.6}}},
      {kForward,
       100,
       32,
       64,
       1,
       {8, 5, 1, 2},
       {{"winograd4x5", 3.8}, {"winograd2x5", 5.8}, {"onednn-last", 9.6}, {"gemm", 21.1}}},
      {kBackwardData, 8, 512, 512, 512, {14, 3, 1, 1}, {{"onednn-last", 1.1}, {"gemm", 12.3}}},
      {kBackwardData, 8, 512, 512, 512, {14, 3, 2, 1}, {{"onednn-last", 0.5}, {"gemm", 7.4}}},
      {kBackwardWeights, 8, 512, 512, 512, {14, 3, 1, 1}, {{"onednn-last", 2.0}, {"gemm", 52.4}}},
      {kBackwardWeights, 8, 512, 512, 512, {14, 3, 2, 1}, {{"onednn-last", 0.6}, {"gemm", 48.2}}},
      {kForward, 8, 512, 512, 512, {14, 3, 1, 1}, {{"onednn-last", 0.8}, {"gemm", 48.3}}},
      {kForward, 8, 512, 512, 512, {14, 3, 2, 1}, {{"onednn-last", 0.4}, {"gemm", 50.6}}},
  };
  return all;
}

ConvRequest request_of(const Measured& m) {
  const ConvAxis axis{m.axis.in, m.axis.kernel, m.axis.stride, m.axis.pad, 1};
  ConvRequest request{.shape = {.n = m.n, .c = m.c, .k = m.k, .groups = m.groups, .h = axis, .w = axis}};
  request.shape.x_layout = conv_suits_plain_x(m.c, m.groups) ? Layout::kPlain : Layout::kBlocked16;
  request.shape.y_layout = Layout::kBlocked16;
  return request;
}

/// In milliseconds, of the candidates that were measured.
std::map<std::string, double> estimates(const Measured& m, CpuLevel level) {
  std::map<std::string, double> costs;
  for (const ConvCandidate& candidate : conv_candidates())
    if (m.milliseconds.count(candidate.name))
      costs[candidate.name] = 1e3 * candidate.cost(request_of(m), m.direction, level);
  return costs;
}

std::string least(const std::map<std::string, double>& of) {
  return std::min_element(of.begin(), of.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

TEST(ConvCosts, OfAvx2ChooseWhatIsNearlyTheFastest) {
  double taken = 0, best = 0;
  for (const Measured& m : measured()) {
    const auto costs = estimates(m, CpuLevel::kAvx2);
    const std::string choice = least(costs);
    const double seconds = m.milliseconds.at(choice), fastest = m.milliseconds.at(least(m.milliseconds));
    EXPECT_LE(seconds, 1.5 * fastest) << describe(request_of(m), m.direction) << ": " << choice;
    taken += seconds, best += fastest;
  }
  EXPECT_LE(taken, 1.1 * best);
}

/// Within 1.7 times of the least estimate candidates are run where there is time: what is much faster has to be among
/// them.
TEST(ConvCosts, OfAvx2LeaveNoMuchFasterOneUnmeasured) {
  for (const Measured& m : measured()) {
    const auto costs = estimates(m, CpuLevel::kAvx2);
    const std::string choice = least(costs), fastest = least(m.milliseconds);
    if (m.milliseconds.at(choice) < 1.2 * m.milliseconds.at(fastest)) continue;
    EXPECT_LE(costs.at(fastest), 1.7 * costs.at(choice)) << describe(request_of(m), m.direction);
  }
}

TEST(ConvCosts, OfAvx2AreWhatWasMeasuredWithinAFactorOfTwo) {
  for (const Measured& m : measured())
    for (const auto& [name, milliseconds] : estimates(m, CpuLevel::kAvx2)) {
      if (m.groups > 2) continue;  // depthwise: one candidate is ten times as fast as the other
      EXPECT_GT(milliseconds, 0.5 * m.milliseconds.at(name)) << name << ", " << describe(request_of(m), m.direction);
      EXPECT_LT(milliseconds, 2 * m.milliseconds.at(name)) << name << ", " << describe(request_of(m), m.direction);
    }
}

TEST(ConvCosts, OfLevelsChooseDifferently) {
  int differ = 0;
  for (const Measured& m : measured())
    differ += least(estimates(m, CpuLevel::kAvx512)) != least(estimates(m, CpuLevel::kAvx2));
  EXPECT_GT(differ, 0);
}

}  // namespace
}  // namespace cortado::kernels
