#include "ranks/device_exchange.h"

namespace cortado::ranks {

namespace {

/// The largest slice of a part of `most` floats (ranks/slices.h rounds to cache lines).
int64_t most_of_slice(int64_t most, int ranks) { return most / ranks + 32; }

std::byte* bytes_of(float* floats) { return reinterpret_cast<std::byte*>(floats); }
float* floats_of(const DeviceMemory& memory) { return reinterpret_cast<float*>(memory.data()); }

}  // namespace

DeviceExchange::DeviceExchange(Context& context, DeviceEngine& engine, const Engine& ranks, int64_t shards,
                               int64_t most)
    : computing_(context),
      exchanging_({.device = context.device}),
      engine_(engine),
      places_(ranks.rank(), ranks.ranks(), shards) {
  const size_t own = blocks_of(range_of(ranks.rank(), ranks.ranks(), shards)).size(), all = places_.all_blocks().size();
  if (own > 1) packed_ = DeviceMemory(exchanging_, own * size_t(most) * sizeof(float));
  received_ = DeviceMemory(exchanging_, all * size_t(most_of_slice(most, ranks.ranks())) * sizeof(float));
}

/// Makes the exchange's work wait for this point of the context's.
void DeviceExchange::begin() {
  made_.mark(computing_);
  made_.hold_back(exchanging_);
}

void DeviceExchange::start(const ShardSums& sums, float* to, const FloatRange& part) {
  begin();
  places_.set(part);
  engine_.all_to_all(exchanging_, packed(sums, part), places_.send, received_.data(), places_.receive);
  add_up(to, part);
  engine_.all_gather(exchanging_, bytes_of(to + part.begin), places_.gather);
}

void DeviceExchange::gather(std::byte* values, std::span<const size_t> at) {
  begin();
  engine_.all_gather(exchanging_, values, at);
}

void DeviceExchange::finish() {
  summed_.mark(exchanging_);
  summed_.hold_back(computing_);
}

const std::byte* DeviceExchange::packed(const ShardSums& sums, const FloatRange& part) {
  if (sums.blocks().size() == 1) return bytes_of(sums.block(0) + part.begin);
  places_.pack(part, [&](int64_t to, size_t block, const FloatRange& from) {
    copy_floats(exchanging_, floats_of(packed_) + to, sums.block(block) + from.begin, from.count());
  });
  return packed_.data();
}

void DeviceExchange::add_up(float* to, const FloatRange& part) {
  const FloatRange own = places_.own_slice(part);
  const auto block = [&](size_t i) { return floats_of(received_) + int64_t(i) * own.count(); };
  fold(places_.all_blocks(),
       [&](size_t into, size_t from) { add_floats(exchanging_, block(into), block(from), own.count()); });
  copy_floats(exchanging_, to + own.begin, block(0), own.count());
}

}  // namespace cortado::ranks
