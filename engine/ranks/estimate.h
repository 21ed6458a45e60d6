#pragma once

// How long an iteration by several ranks will take. A network is its latency and its bandwidth (the α-β model, Hockney
// 1994). Ranks sum up an array of S bytes by an all_to_all and an all_gather, and each of these brings (N-1)/N S
// through every rank's line, each way:
//
//   T(S) = 2 (latency + (N-1)/N S / bandwidth)    of the bandwidth that data have, headers left out
//
// The parts of an array go one after the other, as backward completes them:
//
//   finish_k = max(finish_{k-1}, ready_k) + T(S_k)
//
// Left out: what adding up and the exchange's thread take from computing.

#include <cstdint>
#include <span>
#include <vector>

namespace cortado::ranks {

struct Network {
  double latency = 0;    ///< seconds, of one message
  double bandwidth = 1;  ///< bytes a second of each rank's line, each way; above 0
  double payload = 1;    ///< the share of them that is data, not headers
};

/// Of a line that speaks TCP in Ethernet's usual frames: 1,448 of 1,514 bytes (RFC 9293 with timestamps, IEEE 802.3).
inline constexpr double kTcpPayload = 1448.0 / 1514;

/// How many times its size passes a rank's line, in the direction of more, when `ranks` ranks, no more than shards, sum
/// up an array: 2 (N-1)/N where each rank's shards are one node of the tree (ranks/shard_tree.h), more where they are
/// several, of which each goes to the others by itself.
double line_passes(int ranks, int64_t shards);

/// T(bytes), in seconds.
inline double exchange_seconds(const Network& network, double line_passes, double bytes) {
  return 2 * network.latency + line_passes * bytes / (network.bandwidth * network.payload);
}

struct ExchangeSample {
  double bytes, seconds;
};

/// The network by which T(bytes) comes nearest to the samples, by the squares of relative errors. There are at least
/// two sizes, none of 0 seconds.
Network fitted_network(std::span<const ExchangeSample> samples, double line_passes);

/// A part of what is summed up, and when it is there: seconds from the iteration's begin.
struct ReadyPart {
  int64_t bytes;
  double ready;
};

struct ForetoldPart {
  int64_t bytes;
  double ready, finish;  ///< seconds from the iteration's begin
};

enum class Limit { kCompute, kBandwidth, kLatency };

struct IterationEstimate {
  std::vector<ForetoldPart> parts;
  double compute = 0;   ///< seconds that a rank alone takes
  double exchange = 0;  ///< of all parts, overlapped or not
  double step = 0;      ///< of the iteration
  Limit limit = Limit::kCompute;
  /// Iterations that each rank would have to make by itself between exchanges of everything at once, overlapped with
  /// nothing, for 90 %: T(all) / (compute (1/0.9 - 1)). 1 where the step as it is reaches 90 %.
  int64_t local_steps = 1;

  double efficiency() const { return compute / step; }
};

/// What an efficiency of compute/step is not to fall below.
inline constexpr double kGoodEfficiency = 0.9;

/// An iteration of `compute` seconds whose parts come in their order. Before the last backward all ranks tell one
/// another their losses, which takes one latency. The limit is compute from kGoodEfficiency on, else whatever takes
/// more of the exchange.
IterationEstimate estimate(const Network& network, int ranks, int64_t shards, std::span<const ReadyPart> parts,
                           double compute);

}  // namespace cortado::ranks
