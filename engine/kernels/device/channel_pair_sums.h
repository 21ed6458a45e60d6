#pragma once

// Two sums over each channel of N x C x inner values, read as packs (kernels/device/channel_packs.h), in two kernels.
// The first computes the sums of shares of the positions. The second adds the shares in 64 bits and calls a functor
// with a channel's sums. For .cu files. What a thread adds depends only on the tensor.
//
// A sum is memory-bound, and memory is saturated if enough bytes are in flight: on an H100 about 17 KiB for each of its
// 132 multiprocessors (3.3 TB/s times 0.7 us). Large tensors are therefore divided among 2^18 threads, 1985 per
// multiprocessor, and a thread loads two packs ahead of the one that it adds. nvcc 13 compiles packs of eight binary16
// values for sm_90 to 76 registers for statistics and 126 for gradients, without spills. Thus 768 and 512 threads run
// on a multiprocessor at once: 24 KiB in flight, and 32 KiB for gradients, which read two arrays. With bfloat16 (80 and
// 128 registers) gradients spill 116 bytes. These figures are estimates and compiler output, not measured on a GPU.

#include <algorithm>

#include "core/loops/divisor.h"
#include "core/loops/reduce_tiles.h"
#include "kernels/device/channel_packs.h"

namespace cortado::kernels {

/// The division of the positions of N x C x inner values into shares, and of these into lanes.
struct PackShares {
  PackedChannels p;
  int width;
  int columns;     ///< groups of adjacent channels per tile, or 1: a channel
  int64_t across;  ///< tiles for all groups or channels
  int64_t shares;  ///< shares of the positions; 0 if there are none
  Divisor planes;  ///< packs of a channel's plane

  CORTADO_HD int64_t lanes() const { return kTileThreads / columns; }
  CORTADO_HD int64_t places() const { return p.n * p.inner; }
  int64_t tiles() const { return across * shares; }
  int64_t bytes() const { return 2 * p.channels * shares * int64_t(sizeof(float)); }

  /// The pack of a group (if p.last) or a channel, at one of its positions.
  CORTADO_HD int64_t pack(int64_t column, int64_t place) const {
    if (p.last) return place * p.groups + column;
    const int64_t image = planes.of(place);
    return (image * p.channels + column) * p.inner + place - image * p.inner;
  }
};

inline PackShares pack_shares(const TensorSpec& spec) {
  constexpr int64_t kThreads = 1 << 18, kLeastPacks = 16, kMaxPacks = 256;  // per thread, for large tensors
  constexpr int kWidest = 32;                                               // adjacent packs: 512 bytes
  const PackedChannels p = packed_channels(spec);
  const int64_t groups = p.last ? p.groups : p.channels;
  int columns = 1;
  while (p.last && columns < kWidest && columns < groups) columns *= 2;
  PackShares s{p, pack_width(spec), columns, (groups + columns - 1) / columns, 0, Divisor(p.inner)};
  if (groups == 0 || s.places() == 0) return s;
  const int64_t wanted = kThreads / kTileThreads / std::max<int64_t>(1, s.across);
  const int64_t most = s.places() / (s.lanes() * kLeastPacks), least = s.places() / (s.lanes() * kMaxPacks);
  s.shares = std::max<int64_t>({1, least, std::min(wanted, most)});
  return s;
}

/// The sum of one lane. term.add(coefficients, term.load(pack), pack, a, b) adds a pack's terms to both sums, with
/// coefficients = term.of(c).
template <int kWidth, typename Term>
struct SumShare {
  PackShares s;
  Term term;
  float* sums;  ///< shares x 2 x channels

  struct Sum {
    Values<kWidth> a, b;
    CORTADO_HD Sum& operator+=(const Sum& more) {
      for (int k = 0; k < kWidth; ++k) a.v[k] += more.a.v[k], b.v[k] += more.b.v[k];
      return *this;
    }
  };

  Traffic traffic(int64_t) const {
    Traffic all = term.traffic(s.p.packs());
    return all += {0, s.bytes()};
  }

  CORTADO_HD int64_t column_of(int64_t tile, int column) const { return tile % s.across * s.columns + column; }
  CORTADO_HD bool exists(int64_t column) const { return column < (s.p.last ? s.p.groups : s.p.channels); }

  CORTADO_HD Sum operator()(int64_t tile, int in_tile, int lane) const {
    Sum sum{};
    const int64_t column = column_of(tile, in_tile), share = tile / s.across, places = s.places();
    if (!exists(column)) return sum;
    const int64_t first = share * places / s.shares + lane, end = (share + 1) * places / s.shares, step = s.lanes();
    const auto coefficients = term.of(s.p.last ? column * kWidth : column);
    typename Term::Loaded one{}, two{};
    if (first < end) one = term.load(s.pack(column, first));
    if (first + step < end) two = term.load(s.pack(column, first + step));
    for (int64_t place = first; place < end; place += 2 * step) {
      const typename Term::Loaded now = one, then = two;
      if (place + 2 * step < end) one = term.load(s.pack(column, place + 2 * step));
      if (place + 3 * step < end) two = term.load(s.pack(column, place + 3 * step));
      term.add(coefficients, now, s.pack(column, place), sum.a, sum.b);
      if (place + step < end) term.add(coefficients, then, s.pack(column, place + step), sum.a, sum.b);
    }
    return sum;
  }

  CORTADO_HD void finish(int64_t tile, int in_tile, const Sum& sum) const {
    const int64_t column = column_of(tile, in_tile);
    if (!exists(column)) return;
    float* to = sums + tile / s.across * 2 * s.p.channels;
    if (s.p.last) {
      for (int k = 0; k < kWidth; ++k) {
        to[column * kWidth + k] = sum.a.v[k];
        to[s.p.channels + column * kWidth + k] = sum.b.v[k];
      }
      return;
    }
    float a = 0, b = 0;
    for (int k = 0; k < kWidth; ++k) a += sum.a.v[k], b += sum.b.v[k];
    to[column] = a;
    to[s.p.channels + column] = b;
  }
};

/// Adds a channel's shares and calls use(c, a, b), once per channel.
template <typename Use>
struct FinishChannel {
  const float* sums;
  int64_t shares, channels;
  Use use;
  static constexpr int kColumns = 4;

  struct Sum {
    double a, b;
    CORTADO_HD Sum& operator+=(const Sum& more) {
      a += more.a, b += more.b;
      return *this;
    }
  };

  Traffic traffic(int64_t) const {
    Traffic all = use.traffic(channels);
    return all += {2 * shares * channels * int64_t(sizeof(float)), 0};
  }

  CORTADO_HD Sum operator()(int64_t tile, int column, int lane) const {
    Sum sum{};
    const int64_t c = tile * kColumns + column;
    if (c >= channels) return sum;
    for (int64_t share = lane; share < shares; share += kTileThreads / kColumns) {
      const float* from = sums + share * 2 * channels + c;
      sum.a += double(from[0]);
      sum.b += double(from[channels]);
    }
    return sum;
  }
  CORTADO_HD void finish(int64_t tile, int column, const Sum& sum) const {
    const int64_t c = tile * kColumns + column;
    if (c < channels) use(c, sum.a, sum.b);
  }
};

/// Stores the sums unchanged.
struct KeepSums {
  float* sums;  ///< 2 x channels
  int64_t channels;
  Traffic traffic(int64_t n) const { return {0, 2 * n * int64_t(sizeof(float))}; }
  CORTADO_HD void operator()(int64_t c, double a, double b) const {
    sums[c] = float(a);
    sums[channels + c] = float(b);
  }
};

/// The first kernel. `sums` has shares.bytes().
template <int kWidth, typename Term>
void sum_shares(Context& context, const PackShares& shares, const Term& term, float* sums) {
  reduce_tiles(context, shares.tiles(), shares.columns, SumShare<kWidth, Term>{shares, term, sums});
}

/// The second kernel. Without shares all sums are 0.
template <typename Use>
void finish_channels(Context& context, const PackShares& shares, int64_t count, const float* sums, const Use& use) {
  const FinishChannel<Use> finish{sums, count, shares.p.channels, use};
  constexpr int kColumns = FinishChannel<Use>::kColumns;
  reduce_tiles(context, (shares.p.channels + kColumns - 1) / kColumns, kColumns, finish);
}

}  // namespace cortado::kernels
