// Cost estimates for AVX2 compared with measurements on two cores of an AMD EPYC (Zen 3), CPU seconds of both threads.
// Measurements of "first", and of all candidates in the first layers of CIFAR-10 quick, AlexNet and MobileNet, used one
// thread.

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
       {{"winograd4x5", 3.9}, {"onednn-last", 5.7}, {"winograd2x5", 7.7}, {"gemm", 7.9}, {"direct", 11.1}}},
      {kBackwardWeights, 64, 1, 20, 1, {28, 5, 1, 0}, {{"first", 0.6}, {"onednn-last", 1.1}, {"gemm", 4.9}}},
      {kBackwardWeights,
       64,
       20,
       50,
       1,
       {12, 5, 1, 0},
       {{"winograd4x5", 1.7}, {"winograd2x5", 3.3}, {"onednn-last", 5.0}, {"direct", 6.1}, {"gemm", 6.4}}},
      {kForward, 64, 1, 20, 1, {28, 5, 1, 0}, {{"first", 0.7}, {"onednn-last", 1.2}, {"gemm", 2.1}}},
      {kForward,
       64,
       20,
       50,
       1,
       {12, 5, 1, 0},
       {{"winograd4x5", 1.6}, {"winograd2x5", 3.0}, {"onednn-last", 4.7}, {"direct", 5.8}, {"gemm", 6.3}}},
      {kBackwardData,
       16,
       64,
       64,
       1,
       {56, 3, 1, 1},
       {{"winograd4x3", 22.5}, {"winograd6x3", 22.6}, {"direct", 57.7}, {"gemm", 69.7}, {"onednn-last", 76.2}}},
      {kBackwardWeights,
       16,
       64,
       64,
       1,
       {56, 3, 1, 1},
       {{"winograd4x3", 22.5}, {"winograd6x3", 29.2}, {"direct", 52.3}, {"gemm", 70.1}, {"onednn-last", 145.6}}},
      {kForward,
       16,
       64,
       64,
       1,
       {56, 3, 1, 1},
       {{"winograd4x3", 21.4}, {"winograd6x3", 22.2}, {"direct", 54.8}, {"gemm", 72.8}, {"onednn-last", 79.5}}},
      {kBackwardData, 8, 256, 1024, 1, {14, 1, 1, 0}, {{"onednn-last", 11.8}, {"gemm", 13.3}, {"direct", 13.4}}},
      {kBackwardData, 8, 256, 64, 1, {56, 1, 1, 0}, {{"direct", 15.6}, {"onednn-last", 17.3}, {"gemm", 17.4}}},
      {kBackwardData, 8, 512, 1024, 1, {28, 1, 2, 0}, {{"onednn-last", 27.4}, {"direct", 41.0}, {"gemm", 44.0}}},
      {kBackwardData,
       8,
       512,
       512,
       1,
       {7, 3, 1, 1},
       {{"winograd4x3", 18.0}, {"winograd6x3", 35.3}, {"direct", 36.2}, {"onednn-last", 39.6}, {"gemm", 52.5}}},
      {kBackwardWeights, 8, 256, 1024, 1, {14, 1, 1, 0}, {{"direct", 12.8}, {"gemm", 13.4}, {"onednn-last", 18.7}}},
      {kBackwardWeights, 8, 256, 64, 1, {56, 1, 1, 0}, {{"direct", 12.6}, {"gemm", 17.7}, {"onednn-last", 19.4}}},
      {kBackwardWeights, 8, 3, 64, 1, {224, 7, 2, 3}, {{"first", 25.0}, {"gemm", 46.7}, {"onednn-last", 69.6}}},
      {kBackwardWeights, 8, 512, 1024, 1, {28, 1, 2, 0}, {{"gemm", 26.8}, {"direct", 32.1}, {"onednn-last", 43.2}}},
      {kBackwardWeights,
       8,
       512,
       512,
       1,
       {7, 3, 1, 1},
       {{"winograd4x3", 20.2}, {"direct", 23.9}, {"gemm", 30.1}, {"winograd6x3", 44.0}, {"onednn-last", 50.1}}},
      {kForward, 8, 256, 1024, 1, {14, 1, 1, 0}, {{"onednn-last", 11.6}, {"direct", 13.6}, {"gemm", 14.8}}},
      {kForward, 8, 256, 64, 1, {56, 1, 1, 0}, {{"direct", 13.5}, {"gemm", 15.8}, {"onednn-last", 18.3}}},
      {kForward, 8, 3, 64, 1, {224, 7, 2, 3}, {{"first", 27.0}, {"onednn-last", 29.2}, {"gemm", 39.2}}},
      {kForward, 8, 512, 1024, 1, {28, 1, 2, 0}, {{"onednn-last", 23.3}, {"direct", 26.1}, {"gemm", 27.1}}},
      {kForward,
       8,
       512,
       512,
       1,
       {7, 3, 1, 1},
       {{"winograd4x3", 17.4}, {"direct", 33.7}, {"winograd6x3", 35.0}, {"onednn-last", 35.9}, {"gemm", 38.0}}},
      {kBackwardData,
       32,
       96,
       256,
       2,
       {27, 5, 1, 2},
       {{"winograd4x5", 59.3}, {"winograd2x5", 114.2}, {"direct", 215.6}, {"gemm", 229.9}, {"onednn-last", 243.8}}},
      {kBackwardWeights,
       32,
       96,
       256,
       2,
       {27, 5, 1, 2},
       {{"winograd4x5", 68.7}, {"winograd2x5", 114.2}, {"direct", 188.8}, {"gemm", 252.7}, {"onednn-last", 308.5}}},
      {kForward,
       32,
       96,
       256,
       2,
       {27, 5, 1, 2},
       {{"winograd4x5", 64.2}, {"winograd2x5", 116.5}, {"onednn-last", 193.5}, {"direct", 223.4}, {"gemm", 281.3}}},
      {kBackwardData,
       100,
       32,
       64,
       1,
       {8, 5, 1, 2},
       {{"winograd4x5", 3.3}, {"winograd2x5", 6.2}, {"onednn-last", 8.4}, {"direct", 10.3}, {"gemm", 20.1}}},
      {kBackwardWeights,
       100,
       32,
       64,
       1,
       {8, 5, 1, 2},
       {{"winograd4x5", 2.7}, {"winograd2x5", 5.0}, {"direct", 7.5}, {"onednn-last", 11.0}, {"gemm", 20.5}}},
      {kForward,
       100,
       32,
       64,
       1,
       {8, 5, 1, 2},
       {{"winograd4x5", 3.2}, {"winograd2x5", 5.9}, {"onednn-last", 9.3}, {"direct", 10.7}, {"gemm", 23.5}}},
      {kBackwardData, 8, 512, 512, 512, {14, 3, 1, 1}, {{"depthwise", 0.55}, {"onednn-last", 1.5}, {"gemm", 24.8}}},
      {kBackwardData, 8, 512, 512, 512, {14, 3, 2, 1}, {{"depthwise", 0.38}, {"onednn-last", 0.7}, {"gemm", 13.4}}},
      {kBackwardWeights, 8, 512, 512, 512, {14, 3, 1, 1}, {{"depthwise", 0.44}, {"onednn-last", 3.0}, {"gemm", 20.4}}},
      {kBackwardWeights, 8, 512, 512, 512, {14, 3, 2, 1}, {{"depthwise", 0.18}, {"onednn-last", 1.2}, {"gemm", 20.6}}},
      {kForward, 8, 512, 512, 512, {14, 3, 1, 1}, {{"depthwise", 0.53}, {"onednn-last", 1.0}, {"gemm", 32.8}}},
      {kForward, 8, 512, 512, 512, {14, 3, 2, 1}, {{"depthwise", 0.18}, {"onednn-last", 0.5}, {"gemm", 27.7}}},
      {kForward, 8, 64, 64, 64, {112, 3, 2, 1}, {{"depthwise", 2.6}, {"onednn-last", 8.2}}},
      {kBackwardData, 8, 64, 64, 64, {112, 3, 2, 1}, {{"depthwise", 3.7}, {"onednn-last", 9.5}}},
      {kBackwardWeights, 8, 64, 64, 64, {112, 3, 2, 1}, {{"depthwise", 2.2}, {"onednn-last", 8.7}}},
      {kForward, 8, 128, 128, 128, {56, 3, 1, 1}, {{"depthwise", 2.3}, {"onednn-last", 8.0}}},
      {kBackwardData, 8, 128, 128, 128, {56, 3, 1, 1}, {{"depthwise", 2.2}, {"onednn-last", 8.4}}},
      {kBackwardWeights, 8, 128, 128, 128, {56, 3, 1, 1}, {{"depthwise", 2.6}, {"onednn-last", 9.0}}},
      {kForward, 8, 1024, 1024, 1024, {7, 3, 1, 1}, {{"depthwise", 0.36}, {"onednn-last", 0.49}}},
      {kBackwardData, 8, 1024, 1024, 1024, {7, 3, 1, 1}, {{"depthwise", 0.37}, {"onednn-last", 0.53}}},
      {kBackwardWeights, 8, 1024, 1024, 1024, {7, 3, 1, 1}, {{"depthwise", 0.25}, {"onednn-last", 0.86}}},
      {kForward, 100, 3, 32, 1, {32, 5, 1, 2}, {{"first", 6.0}, {"onednn-last", 6.8}, {"gemm", 18.4}}},
      {kBackwardWeights, 100, 3, 32, 1, {32, 5, 1, 2}, {{"first", 6.5}, {"onednn-last", 13.4}, {"gemm", 19.8}}},
      {kForward, 32, 3, 96, 1, {227, 11, 4, 0}, {{"first", 90.0}, {"onednn-last", 92.0}, {"gemm", 130.0}}},
      {kBackwardWeights, 32, 3, 96, 1, {227, 11, 4, 0}, {{"first", 99.0}, {"onednn-last", 165.0}, {"gemm", 140.0}}},
      {kForward, 32, 3, 32, 1, {224, 3, 2, 1}, {{"first", 12.5}, {"onednn-last", 22.0}, {"gemm", 36.0}}},
      {kBackwardWeights, 32, 3, 32, 1, {224, 3, 2, 1}, {{"first", 12.5}, {"onednn-last", 37.0}, {"gemm", 28.0}}},
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

/// In milliseconds, of the measured candidates.
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

TEST(ConvCosts, OfAvx2ChooseNearlyTheFastest) {
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

/// If there is time, candidates within 1.7 times the lowest estimate are timed; much faster ones must be among them.
TEST(ConvCosts, OfAvx2KeepMuchFasterCandidates) {
  for (const Measured& m : measured()) {
    const auto costs = estimates(m, CpuLevel::kAvx2);
    const std::string choice = least(costs), fastest = least(m.milliseconds);
    if (m.milliseconds.at(choice) < 1.2 * m.milliseconds.at(fastest)) continue;
    EXPECT_LE(costs.at(fastest), 1.7 * costs.at(choice)) << describe(request_of(m), m.direction);
  }
}

TEST(ConvCosts, OfAvx2AreWithinAFactorOfTwo) {
  for (const Measured& m : measured())
    for (const auto& [name, milliseconds] : estimates(m, CpuLevel::kAvx2)) {
      if (m.groups > 2 && name != "depthwise") continue;  // others are several times slower there
      EXPECT_GT(milliseconds, 0.5 * m.milliseconds.at(name)) << name << ", " << describe(request_of(m), m.direction);
      EXPECT_LT(milliseconds, 2 * m.milliseconds.at(name)) << name << ", " << describe(request_of(m), m.direction);
    }
}

TEST(ConvCosts, DependOnTheLevel) {
  int differ = 0;
  for (const Measured& m : measured())
    differ += least(estimates(m, CpuLevel::kAvx512)) != least(estimates(m, CpuLevel::kAvx2));
  EXPECT_GT(differ, 0);
}

}  // namespace
}  // namespace cortado::kernels
