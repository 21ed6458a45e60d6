#pragma once

// Two sums over each channel of N x C x inner values that are moved as packs (kernels/device/channel_packs.h), in two
// kernels: the first makes sums of shares of the places, the second adds the shares up, in 64 bits, and does with a
// channel's sums what they were wanted for. For .cu files. What a thread adds depends on the tensor alone.
//
// A sum is bound by memory, and memory is busy when enough bytes are on their way: on an H100 about 17 KiB for each of
// its 132 multiprocessors (3.3 TB/s times 0.7 us). So large tensors are split among 2^18 threads, 1985 for each
// multiprocessor, and a thread loads two packs ahead of the one that it adds. Of what nvcc 13 makes for sm_90 of eight
// binary16 values (76 registers for statistics, 126 for gradients, no spills) 768 and 512 threads run on one at once:
// 24 KiB on their way, and 32 KiB as gradients read two arrays. With bfloat16 (80 and 128) gradients spill 116 bytes.
// Reasoned and nvcc's figures; none was measured on a GPU.

#include <algorithm>

#include "core/loops/divisor.h"
#include "core/loops/reduce_tiles.h"
#include "kernels/device/channel_packs.h"

namespace cortado::kernels {

/// How the places of N x C x inner values are dealt out: to shares, of these to lanes.
struct PackShares {
  PackedChannels p;
  int width;
  int columns;     ///< groups of neighbouring channels that a tile has, or 1: a channel
  int64_t across;  ///< tiles for all groups or channels
  int64_t shares;  ///< of the places; 0 where there are none
  Divisor planes;  ///< packs of a channel's plane

  CORTADO_HD int64_t lanes() const { return kTileThreads / columns; }
  CORTADO_HD int64_t places() const { return p.n * p.inner; }
  int64_t tiles() const { return across * shares; }
  int64_t bytes() const { return 2 * p.channels * shares * int64_t(sizeof(float)); }

  /// Of a group (if p.last) or a channel, at one of its places.
  CORTADO_HD int64_t pack(int64_t column, int64_t place) const {
    if (p.last) return place * p.groups + column;
    const int64_t image = planes.of(place);
    return (image * p.channels + column) * p.inner + place - image * p.inner;
  }
};

inline PackShares pack_shares(const TensorSpec& spec) {
  constexpr int64_t kThreads = 1 << 18, kLeastPacks = 16, kMaxPacks = 256;  // of a thread, where there are enough
  constexpr int kWidest = 32;                                               // packs side by side: 512 bytes
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

/// One lane's part: term.add(coefficients, term.load(pack), pack, a, b) adds to both sums what the pack gives, with
/// coefficients = term.of(c) and what load() has brought.
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

/// Adds a channel's shares up and calls use(c, a, b), once for each channel.
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

/// Sums that are wanted as they are.
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

/// The second. `shares` of none: all sums are 0.
template <typename Use>
void finish_channels(Context& context, const PackShares& shares, int64_t count, const float* sums, const Use& use) {
  const FinishChannel<Use> finish{sums, count, shares.p.channels, use};
  constexpr int kColumns = FinishChannel<Use>::kColumns;
  reduce_tiles(context, (shares.p.channels + kColumns - 1) / kColumns, kColumns, finish);
}

}  // namespace cortado::kernels
