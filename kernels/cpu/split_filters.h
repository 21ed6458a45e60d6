#pragma once

// Filters on their way to AMX (kernels/cpu/amx.h): split on each run while they learn, once where they never change.

#include "kernels/cpu/amx.h"

#ifdef CORTADO_WITH_AMX

#include <cstring>
#include <memory>

#include "core/threads.h"
#include "kernels/conv.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/transformed_storage.h"
#include "kernels/cpu/winograd_tiles.h"

namespace cortado::kernels::amx {

/// Blocked weights (WeightFormat::blocked16) as right operands: for each block of 16 channels of `to`, for each pair of
/// blocks of `from`, for each tap, a tile of each part.
class SplitFilters {
 public:
  /// `turned`: from y's channels to x's, with taps in reverse.
  SplitFilters(int64_t from_blocks, int64_t to_blocks, int64_t taps, bool turned)
      : from_(from_blocks), to_(to_blocks), taps_(taps), turned_(turned) {}

  int64_t steps() const { return (from_ + 1) / 2 * taps_; }
  int64_t bytes_of_block() const { return steps() * kParts * kTile; }
  int64_t bytes() const { return to_ * bytes_of_block(); }

  void run(Context& context, const float* w, void* split) const {
    parallel_ranges(context, to_ * steps(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t to = i / steps(), pair = i % steps() / taps_, tap = i % taps_;
        char* tile = static_cast<char*>(split) + i * kParts * kTile;
        split_block(w, to, 2 * pair, tap, tile);
        split_block(w, to, 2 * pair + 1, tap, tile + kTile / 2);
      }
    });
  }

 private:
  /// Half of a tile: sixteen channels of `from`, zero behind the last.
  void split_block(const float* w, int64_t to, int64_t from, int64_t tap, char* half) const {
    alignas(64) float block[kLanes][kLanes] = {};
    if (from < from_ && turned_)
      for (int c = 0; c < kLanes; ++c)
        for (int k = 0; k < kLanes; ++k) block[k][c] = at(w, from, to, to_, taps_ - 1 - tap)[c * kLanes + k];
    else if (from < from_)
      std::memcpy(block, at(w, to, from, from_, tap), sizeof block);
    for (int row = 0; row < kLanes / 2; ++row)
      split_pair(_mm512_load_ps(block[2 * row]), _mm512_load_ps(block[2 * row + 1]), half + row * kRow, kTile);
  }
  const float* at(const float* w, int64_t k_block, int64_t c_block, int64_t c_blocks, int64_t tap) const {
    return w + ((k_block * c_blocks + c_block) * taps_ + tap) * kLanes * kLanes;
  }

  int64_t from_, to_, taps_;
  bool turned_;
};

/// Weights that are stored as forward's right operand.
inline WeightFormat split_format(const ConvShape& s) {
  const SplitFilters filters(blocks_of(s.c), blocks_of(s.k), s.weight().count(2), false);
  return {s.weight(),
          std::make_shared<TransformedStorage<SplitFilters>>(WeightFormat::blocked16(s.weight(), 1), filters, "split")};
}

}  // namespace cortado::kernels::amx

#endif
