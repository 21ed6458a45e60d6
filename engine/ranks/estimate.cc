#include "ranks/estimate.h"

#include <algorithm>
#include <cmath>

#include "ranks/shard_tree.h"

namespace cortado::ranks {

namespace {

int64_t local_steps_for(double efficiency, double exchange, double compute) {
  return std::max<int64_t>(1, std::llround(std::ceil(exchange / (compute * (1 / efficiency - 1)))));
}

}  // namespace

double line_passes(int ranks, int64_t shards) {
  int64_t all = 0, most = 0, least = shards;
  for (int rank = 0; rank < ranks; ++rank) {
    const int64_t blocks = int64_t(blocks_of(range_of(rank, ranks, shards)).size());
    all += blocks;
    most = std::max(most, blocks);
    least = std::min(least, blocks);
  }
  // A rank sends all slices but one of its own blocks, and receives one slice of each of the others' blocks.
  return double(std::max(most * (ranks - 1), all - least) + ranks - 1) / ranks;
}

/// Solves sum ((x + y b - t) / t)^2 = min for x = 2 latency and y = line_passes / bandwidth.
Network fitted_network(std::span<const ExchangeSample> samples, double line_passes) {
  double w = 0, wb = 0, wbb = 0, wt = 0, wbt = 0;
  for (const auto& [bytes, seconds] : samples) {
    const double weight = 1 / (seconds * seconds);
    w += weight;
    wb += weight * bytes;
    wbb += weight * bytes * bytes;
    wt += weight * seconds;
    wbt += weight * bytes * seconds;
  }
  double y = (w * wbt - wb * wt) / (w * wbb - wb * wb);
  double x = (wt - y * wb) / w;
  if (x < 0) x = 0, y = wbt / wbb;
  if (y <= 0) y = 1e-15 * line_passes, x = wt / w;  // larger arrays take no longer: the bandwidth cannot be measured
  return {x / 2, line_passes / y};
}

IterationEstimate estimate(const Network& network, int ranks, int64_t shards, std::span<const ReadyPart> parts,
                           double compute) {
  const double passes = line_passes(ranks, shards);
  IterationEstimate result;
  result.compute = compute;
  double finish = 0, bytes = 0;
  for (const ReadyPart& part : parts) {
    const double seconds = exchange_seconds(network, passes, double(part.bytes)), ready = part.ready + network.latency;
    finish = std::max(finish, ready) + seconds;
    bytes += double(part.bytes);
    result.exchange += seconds;
    result.parts.push_back({part.bytes, ready, finish});
  }
  result.step = std::max(compute + network.latency, finish);
  if (result.efficiency() >= kGoodEfficiency) return result;
  const double waiting = network.latency * double(1 + 2 * parts.size());
  result.limit = waiting > result.exchange / 2 ? Limit::kLatency : Limit::kBandwidth;
  result.local_steps = local_steps_for(kGoodEfficiency, exchange_seconds(network, passes, bytes), compute);
  return result;
}

}  // namespace cortado::ranks
