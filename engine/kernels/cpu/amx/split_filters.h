#pragma once

// Preparation of filters for AMX (kernels/cpu/amx/amx.h).

#include "kernels/cpu/amx/amx.h"

#ifdef CORTADO_WITH_AMX

#include <cstdint>
#include <vector>

#include "kernels/cpu/vec16f.h"

namespace cortado::kernels::amx {

/// Converts blocked weights (WeightFormat::blocked16) to right operands: a step per pair of blocks of `from`'s channels
/// and tap, 16 channels of `to` across. Memory has floats of 4 bytes, where the split parts would take 6. They are
/// split by quarters of a step while tiles multiply.
class SplitFilters {
 public:
  /// `turned`: from y's channels to x's, with flipped taps.
  SplitFilters(int64_t from_blocks, int64_t to_blocks, int64_t taps, bool turned)
      : turned_(turned), between_((turned ? 1 : from_blocks) * taps * kBlock) {
    const auto offset = [&](int64_t from, int64_t tap) {
      if (from >= from_blocks) return int64_t(-1);
      return (turned ? from * to_blocks * taps + taps - 1 - tap : from * taps + tap) * kBlock;
    };
    for (int64_t from = 0; from < from_blocks; from += 2)
      for (int64_t tap = 0; tap < taps; ++tap) at_.push_back({offset(from, tap), offset(from + 1, tap)});
    steps_ = int64_t(at_.size());
    for (int64_t step = 0; step < kAhead; ++step) at_.push_back(next_block(at_[size_t(step)]));
  }

  int64_t steps() const { return steps_; }
  int64_t bytes_of_block() const { return steps_ * kParts * kTile; }
  /// The filters of 16 channels of `to`.
  const float* of_block(const float* w, int64_t block) const { return w + block * between_; }

  /// Splits a quarter of a step's tiles: half the channels of one of its two blocks. Also prefetches a quarter of the
  /// step kAhead later, spread out so that the first-level cache stays available to tiles.
  void split(const float* filters, int64_t step, int quarter, char* to) const {
    const int64_t block = block_of(step, quarter), ahead = block_of(step + kAhead, quarter),
                  half = quarter % 2 * kBlock / 2;
    if (ahead >= 0)
      for (int64_t i = 0; i < kBlock / 2; i += kLanes) _mm_prefetch(filters + ahead + half + i, _MM_HINT_T1);
    to += quarter * kTile / 4;
    if (block < 0)
      split_half([](int) { return _mm512_setzero_ps(); }, to);
    else if (!turned_)
      split_half([&](int i) { return _mm512_loadu_ps(filters + block + half + i * kLanes); }, to);
    else if (half == 0)
      split_turned(filters + block, to);
  }

 private:
  static constexpr int64_t kBlock = kLanes * kLanes;  ///< weights of 16 channels and 16 outputs
  static constexpr int64_t kAhead = 8;                ///< prefetch distance in steps

  /// The two blocks of a step, -1 for none.
  struct Blocks {
    int64_t first, second;
  };

  Blocks next_block(Blocks at) const {
    const auto next = [&](int64_t offset) { return offset < 0 ? offset : offset + between_; };
    return {next(at.first), next(at.second)};
  }
  int64_t block_of(int64_t step, int quarter) const {
    const Blocks& at = at_[size_t(step)];
    return quarter < 2 ? at.first : at.second;
  }

  template <typename Row>
  static void split_half(const Row& row, char* to) {
    for (int i = 0; i < kLanes / 2; i += 2, to += kRow) split_pair(row(i), row(i + 1), to, kTile);
  }
  /// Splits both halves of a block with outputs and channels swapped.
  static void split_turned(const float* w, char* to) {
    __m512 rows[kLanes];
    for (int i = 0; i < kLanes; ++i) rows[i] = _mm512_loadu_ps(w + i * kLanes);
    transpose(rows);
    split_half([&](int i) { return rows[i]; }, to);
    split_half([&](int i) { return rows[kLanes / 2 + i]; }, to + kTile / 4);
  }

  bool turned_;
  int64_t between_;  ///< floats between the filters of 16 channels and those of the next 16
  int64_t steps_ = 0;
  std::vector<Blocks> at_;  ///< of each step, then of the first steps of the next 16 channels
};

}  // namespace cortado::kernels::amx

#endif
