#pragma once

// Sums over the shards of all ranks, as in ranks/shard_exchange.h, of arrays in device memory. The work runs in a
// stream of its own, concurrently with backward. The additions and their order are the same.

#include <span>

#include "core/device/device_memory.h"
#include "ranks/device_engine.h"
#include "ranks/exchange_places.h"
#include "ranks/shard_sums.h"

namespace cortado::ranks {

class DeviceExchange {
 public:
  /// For parts of at most `most` floats that the work of `context` computes. All references must outlive this object.
  DeviceExchange(Context& context, DeviceEngine& engine, const Engine& ranks, int64_t shards, int64_t most);

  /// Sums the part's floats of all ranks' blocks, as of this point of the context's work, into the same floats of `to`,
  /// on every rank. All ranks start the same parts in the same order. Arguments must stay valid until finish().
  void start(const ShardSums& sums, float* to, const FloatRange& part);
  /// Before, every rank has its bytes [at[r], at[r + 1]) of `values`; after, every rank has all of them.
  void gather(std::byte* values, std::span<const size_t> at);
  /// Work enqueued in the context after this call follows everything that was started.
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
