#include "ranks/estimate.h"

#include <gtest/gtest.h>

namespace cortado::ranks {
namespace {

constexpr double kMega = 1e6;

TEST(Estimate, CountsBytesOverARanksLink) {
  EXPECT_DOUBLE_EQ(line_passes(2, 2), 1);
  EXPECT_DOUBLE_EQ(line_passes(4, 4), 1.5);
  EXPECT_DOUBLE_EQ(line_passes(4, 8), 1.5);  // two shards of a rank are one node
  EXPECT_DOUBLE_EQ(line_passes(3, 3), 4. / 3);
  // Shards 0-1, 2-4 and 5-7: nodes 01, 23 4, 5 67. The first rank receives a third of four, the others send two thirds
  // of two; then all send two thirds of a sum.
  EXPECT_DOUBLE_EQ(line_passes(3, 8), 4. / 3 + 2. / 3);
  // Shards 0-2, 3-5: nodes 01 2, 3 45. A half of two each way; then a half.
  EXPECT_DOUBLE_EQ(line_passes(2, 6), 1.5);
}

/// 25 MB by two ranks at 1 Gbit/s: each half is sent twice.
TEST(Estimate, AnExchangeTakesLatencyAndBandwidth) {
  EXPECT_DOUBLE_EQ(exchange_seconds({0, 125 * kMega}, 1, 25 * kMega), 0.2);
  EXPECT_DOUBLE_EQ(exchange_seconds({0.05, 125 * kMega}, 1.5, 25 * kMega), 0.1 + 0.3);
  EXPECT_DOUBLE_EQ(exchange_seconds({0, 125 * kMega, 0.5}, 1, 25 * kMega), 0.4);
}

/// By hand, latency 1 s, 1 MB/s, two ranks, so T(S) = 2 + S. Losses: 1 s. Parts of 1, 4 and 1 MB are ready after 3, 4
/// and 20 s, hence at 4, 5 and 21 s.
TEST(Estimate, PartsAreExchangedInTurn) {
  const std::vector<ReadyPart> parts = {{1'000'000, 3}, {4'000'000, 4}, {1'000'000, 20}};
  const IterationEstimate foretold = estimate({1, kMega}, 2, 2, parts, 20);
  ASSERT_EQ(foretold.parts.size(), 3u);
  EXPECT_DOUBLE_EQ(foretold.parts[0].ready, 4);
  EXPECT_DOUBLE_EQ(foretold.parts[0].finish, 7);
  EXPECT_DOUBLE_EQ(foretold.parts[1].finish, 13);
  EXPECT_DOUBLE_EQ(foretold.parts[2].finish, 24);
  EXPECT_DOUBLE_EQ(foretold.exchange, 12);
  EXPECT_DOUBLE_EQ(foretold.step, 24);
  EXPECT_DOUBLE_EQ(foretold.efficiency(), 20. / 24);
  EXPECT_EQ(foretold.limit, Limit::kLatency);
  EXPECT_EQ(foretold.local_steps, 4);  // (2 + 6) / (20 / 9) = 3.6
}

TEST(Estimate, NamesTheLimit) {
  const std::vector<ReadyPart> parts = {{8'000'000, 1}};
  EXPECT_EQ(estimate({0.001, kMega}, 2, 2, parts, 1).limit, Limit::kBandwidth);
  EXPECT_EQ(estimate({9, kMega}, 2, 2, parts, 1).limit, Limit::kLatency);
  const IterationEstimate good = estimate({0.001, 1000 * kMega}, 2, 2, parts, 1);
  EXPECT_EQ(good.limit, Limit::kCompute);
  EXPECT_EQ(good.local_steps, 1);
  EXPECT_DOUBLE_EQ(good.step, 1 + 0.003 + 0.008);
  const IterationEstimate nothing = estimate({0.5, kMega}, 2, 2, {}, 19.5);
  EXPECT_DOUBLE_EQ(nothing.step, 20);
}

TEST(Estimate, FitsANetworkToSamples) {
  const Network wanted{50e-6, 1.25e9};
  std::vector<ExchangeSample> samples;
  for (const double bytes : {4e3, 3e5, 1e6, 8e6}) samples.push_back({bytes, exchange_seconds(wanted, 1.5, bytes)});
  const Network found = fitted_network(samples, 1.5);
  EXPECT_NEAR(found.latency, wanted.latency, 1e-9);
  EXPECT_NEAR(found.bandwidth / wanted.bandwidth, 1, 1e-6);
}

/// Noise may make small exchanges slower than large ones, or their time negative.
TEST(Estimate, FittedNetworksArePositive) {
  const Network flat = fitted_network(std::vector<ExchangeSample>{{1e3, 2e-3}, {1e6, 1e-3}}, 1);
  EXPECT_GT(flat.latency, 0);
  EXPECT_GT(flat.bandwidth, 1e12);
  const Network steep = fitted_network(std::vector<ExchangeSample>{{1e3, 1e-6}, {1e6, 2e-3}}, 1);
  EXPECT_EQ(steep.latency, 0);
  EXPECT_GT(steep.bandwidth, 0);
}

}  // namespace
}  // namespace cortado::ranks
