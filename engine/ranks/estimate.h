#pragma once

// Estimates the time of an iteration on several ranks. A network is modelled by its latency and bandwidth (the α-β
// model, Hockney 1994). Ranks sum an array of S bytes by an all_to_all and an all_gather. Each of these moves (N-1)/N S
// over every rank's link, in each direction:
//
//   T(S) = 2 (latency + (N-1)/N S / bandwidth)    with the bandwidth of the payload, without headers
//
// The parts of an array are exchanged in turn, as backward completes them:
//
//   finish_k = max(finish_{k-1}, ready_k) + T(S_k)
//
// Not modelled: the CPU time that the additions and the exchange's thread take.

#include <cstdint>
#include <span>
#include <vector>

namespace cortado::ranks {

struct Network {
  double latency = 0;    ///< seconds per message
  double bandwidth = 1;  ///< bytes per second of each rank's link, in each direction; above 0
  double payload = 1;    ///< fraction of them that is data, not headers
};

/// Of a TCP link with Ethernet's usual frames: 1,448 of 1,514 bytes (RFC 9293 with timestamps, IEEE 802.3).
inline constexpr double kTcpPayload = 1448.0 / 1514;

/// The bytes over a rank's link, in its busier direction, divided by the size of the array that `ranks` ranks (no more
/// than shards) sum. It is 2 (N-1)/N if each rank's shards are one node of the tree (ranks/shard_tree.h), and more if
/// they are several, each of which is sent separately.
double line_passes(int ranks, int64_t shards);

/// T(bytes), in seconds.
inline double exchange_seconds(const Network& network, double line_passes, double bytes) {
  return 2 * network.latency + line_passes * bytes / (network.bandwidth * network.payload);
}

struct ExchangeSample {
  double bytes, seconds;
};

/// The network whose T(bytes) fits the samples with the least squares of relative errors. Needs at least two sizes, and
/// no sample of 0 seconds.
Network fitted_network(std::span<const ExchangeSample> samples, double line_passes);

/// A part of the array, and when backward completes it: seconds from the start of the iteration.
struct ReadyPart {
  int64_t bytes;
  double ready;
};

struct ForetoldPart {
  int64_t bytes;
  double ready, finish;  ///< seconds from the start of the iteration
};

enum class Limit { kCompute, kBandwidth, kLatency };

struct IterationEstimate {
  std::vector<ForetoldPart> parts;
  double compute = 0;   ///< seconds of one rank alone
  double exchange = 0;  ///< of all parts, overlapped or not
  double step = 0;      ///< of the iteration
  Limit limit = Limit::kCompute;
  /// How many local iterations each rank would have to run between exchanges of the whole array, without overlap, to
  /// reach an efficiency of 90 %: T(all) / (compute (1/0.9 - 1)). 1 if the step reaches it anyway.
  int64_t local_steps = 1;

  double efficiency() const { return compute / step; }
};

/// The efficiency, compute/step, that counts as good.
inline constexpr double kGoodEfficiency = 0.9;

/// An iteration of `compute` seconds whose parts are completed in order. Before the last backward, all ranks exchange
/// their losses, which takes one latency. From kGoodEfficiency on the limit is compute, else the larger term of the
/// exchange.
IterationEstimate estimate(const Network& network, int ranks, int64_t shards, std::span<const ReadyPart> parts,
                           double compute);

}  // namespace cortado::ranks
