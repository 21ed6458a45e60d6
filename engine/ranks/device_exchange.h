#pragma once

// Sums over the shards of all ranks, as ranks/shard_exchange.h makes them, of arrays in the memory of a device: by work
// of a stream of its own, beside what computes, so that backward goes on meanwhile. The same additions in the same
// order.

#include <span>

#include "core/device/device_memory.h"
#include "ranks/device_engine.h"
#include "ranks/exchange_places.h"
#include "ranks/shard_sums.h"

namespace cortado::ranks {

class DeviceExchange {
 public:
  /// For parts of at most `most` floats, made by the work of `context`. All references outlive this.
  DeviceExchange(Context& context, DeviceEngine& engine, const Engine& ranks, int64_t shards, int64_t most);

  /// Sums the part's floats of all ranks' blocks, as they are at this point of the context's work, into the same floats
  /// of `to`, on every rank. All ranks start the same parts in the same order. Everything stays until finish().
  void start(const ShardSums& sums, float* to, const FloatRange& part);
  /// Every rank has its bytes [at[r], at[r + 1]) of `values`; afterwards each has all of them.
  void gather(std::byte* values, std::span<const size_t> at);
  /// What is put into the context's work from now on finds all that was started.
  void finish();

 private:
  const std::byte* packed(const ShardSums& sums, const FloatRange& part);
  void add_up(float* to, const FloatRange& part);
  void begin();

  Context& computing_;
  Context exchanging_;
  DeviceEngine& engine_;
  ExchangePlaces places_;
  DeviceMemory packed_, received_;
  DeviceEvent made_, summed_;
};

}  // namespace cortado::ranks
