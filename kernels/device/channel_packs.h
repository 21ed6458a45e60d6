#pragma once

// N x C x inner values as packs (core/pack.h), for .cu files that are bound by memory: loops that want one channel's
// coefficients in registers, and two sums over each channel.
//
// A pack's values are of one channel where a channel's values are neighbours, else of as many neighbouring channels.
// Where sixteen bytes do not divide the one or the other, packs are single values. What a thread does depends on the
// tensor alone, so sums are the same on every device, whatever its size.

#include <algorithm>

#include "core/for_each.h"
#include "core/pack.h"

namespace cortado::kernels {

/// The values of a pack, or its channels' coefficients.
template <int kWidth>
struct Values {
  float v[kWidth];
};

template <int kWidth, typename T>
CORTADO_HD Values<kWidth> load_values(const T* p) {
  if constexpr (kWidth == 1) {
    return {float(*p)};
  } else {
    constexpr int kPack = Pack<T>::kWidth;
    Values<kWidth> values;
    for (int part = 0; part < kWidth; part += kPack) {
      const Pack<T> pack = load_pack(p + part);
      for (int k = 0; k < kPack; ++k) values.v[part + k] = pack.v[k];
    }
    return values;
  }
}

template <int kWidth, typename T>
CORTADO_HD void store_values(T* p, const Values<kWidth>& values) {
  if constexpr (kWidth == 1) {
    *p = T(values.v[0]);
  } else {
    Pack<T> pack;
    static_assert(Pack<T>::kWidth == kWidth);
    for (int k = 0; k < kWidth; ++k) pack.v[k] = values.v[k];
    store_pack(p, pack);
  }
}

struct PackedChannels {
  int64_t n, channels, inner;  ///< inner: packs of a channel's plane, or places if `last`
  int64_t groups;              ///< of neighbouring channels, if `last`
  bool last;                   ///< neighbours in memory are channels

  int64_t packs() const { return last ? n * inner * groups : n * channels * inner; }

  /// The pack's coefficients out of an array of one for each channel, which starts packs.
  template <int kWidth>
  CORTADO_HD Values<kWidth> of_channels(const float* per_channel, int64_t c) const {
    if (last) return load_values<kWidth>(per_channel + c);
    Values<kWidth> values;
    for (int k = 0; k < kWidth; ++k) values.v[k] = per_channel[c];
    return values;
  }
};

/// 1, or the values in sixteen bytes.
inline int pack_width(const TensorSpec& spec) {
  const int64_t inner = spec.shape.count(2), width = 16 / size_of(spec.dtype);
  const bool last = spec.layout == Layout::kChannelsLast || inner == 1;
  return (last ? spec.shape[1] : inner) % width == 0 ? int(width) : 1;
}

inline PackedChannels packed_channels(const TensorSpec& spec) {
  const int64_t n = spec.shape[0], c = spec.shape[1], inner = spec.shape.count(2), width = pack_width(spec);
  const bool last = spec.layout == Layout::kChannelsLast || inner == 1;
  return {n, c, last ? inner : inner / width, last ? c / width : 0, last};
}

/// What one call of a loop over packs does: every one of them lies in the channels from c on.
struct PackRun {
  int64_t pack, step, count, c;
};

/// A few packs for each call, so that what belongs to the channel is read once for them. Neighbouring calls take
/// neighbouring packs.
struct PackRuns {
  PackedChannels p;
  int width;
  static constexpr int64_t kPacks = 4;

  CORTADO_HD int64_t blocks() const { return ((p.last ? p.n * p.inner : p.inner) + kPacks - 1) / kPacks; }
  int64_t calls() const { return p.last ? blocks() * p.groups : p.n * p.channels * blocks(); }

  CORTADO_HD PackRun operator()(int64_t call) const {
    if (p.last) {
      const int64_t first = call / p.groups * kPacks, group = call % p.groups, left = p.n * p.inner - first;
      return {first * p.groups + group, p.groups, left < kPacks ? left : kPacks, group * width};
    }
    const int64_t step = blocks(), plane = call / step, first = call % step;
    return {plane * p.inner + first, step, (p.inner - first + step - 1) / step, plane % p.channels};
  }
};

/// How the channels' sums are split into parts: one call for each part of each group of channels or channel.
struct PackParts {
  PackedChannels p;
  int width;
  int64_t lanes;   ///< neighbouring packs of a plane that neighbouring calls begin with; 1 if `last`
  int64_t shares;  ///< of the places, or of the images
  int64_t folded;  ///< parts that are left for the last step

  CORTADO_HD int64_t parts() const { return lanes * shares; }
  int64_t calls() const { return (p.last ? p.groups : p.channels) * parts(); }
  int64_t bytes() const { return 2 * p.channels * (parts() + folded) * int64_t(sizeof(float)); }
};

inline PackParts pack_parts(const TensorSpec& spec) {
  constexpr int64_t kCalls = 1 << 16, kLeastPacks = 16, kFold = 32;
  const PackedChannels p = packed_channels(spec);
  const int64_t lanes = p.last ? 1 : std::clamp<int64_t>(p.inner, 1, 64);
  const int64_t columns = std::max<int64_t>(1, (p.last ? p.groups : p.channels) * lanes);
  const int64_t packs = p.last ? p.n * p.inner : p.n * std::max<int64_t>(1, p.inner / lanes);
  const int64_t most = std::min(kCalls / columns, packs / kLeastPacks);
  PackParts parts{p, pack_width(spec), lanes, std::clamp<int64_t>(most, 1, std::max<int64_t>(1, p.last ? packs : p.n)),
                  0};
  if (parts.parts() > 2 * kFold) parts.folded = parts.parts() / kFold;
  return parts;
}

/// One part: term.add(coefficients, pack, a, b) adds to both sums what the pack gives, with
/// coefficients = term.of(c). Runs of 32 packs, and then these runs, are added in 32 bits.
template <int kWidth, typename Term>
struct SumPart {
  PackParts parts;
  Term term;
  float* sums;  ///< parts x 2 x channels

  Traffic traffic(int64_t) const {
    Traffic all = term.traffic(parts.p.packs());
    return all += {0, parts.parts() * 2 * parts.p.channels * int64_t(sizeof(float))};
  }

  struct Both {
    Values<kWidth> a{}, b{};
    CORTADO_HD void add(const Both& more) {
      for (int k = 0; k < kWidth; ++k) a.v[k] += more.a.v[k], b.v[k] += more.b.v[k];
    }
  };

  CORTADO_HD void operator()(int64_t call) const {
    const PackedChannels& p = parts.p;
    Both all;
    if (p.last) {
      const int64_t part = call / p.groups, group = call % p.groups, rows = p.n * p.inner;
      const int64_t begin = part * rows / parts.shares, end = (part + 1) * rows / parts.shares;
      const auto coefficients = term.of(group * kWidth);
      add_run(begin * p.groups + group, p.groups, end - begin, coefficients, all);
      float* to = sums + part * 2 * p.channels + group * kWidth;
      for (int k = 0; k < kWidth; ++k) to[k] = all.a.v[k], to[p.channels + k] = all.b.v[k];
      return;
    }
    const int64_t c = call / parts.parts(), part = call % parts.parts(), lane = part % parts.lanes;
    const auto coefficients = term.of(c);
    for (int64_t image = part / parts.lanes; image < p.n; image += parts.shares)
      add_run((image * p.channels + c) * p.inner + lane, parts.lanes, (p.inner - lane + parts.lanes - 1) / parts.lanes,
              coefficients, all);
    float a = 0, b = 0;
    for (int k = 0; k < kWidth; ++k) a += all.a.v[k], b += all.b.v[k];
    sums[part * 2 * p.channels + c] = a;
    sums[part * 2 * p.channels + p.channels + c] = b;
  }

  template <typename Coefficients>
  CORTADO_HD void add_run(int64_t pack, int64_t step, int64_t count, const Coefficients& coefficients,
                          Both& all) const {
    constexpr int64_t kShort = 32;
    while (count > 0) {
      Both few;
      const int64_t now = count < kShort ? count : kShort;
      for (int64_t i = 0; i < now; ++i, pack += step) term.add(coefficients, pack, few.a, few.b);
      all.add(few);
      count -= now;
    }
  }
};

/// Sums of every folded-th part, from each of the first on.
struct FoldParts {
  const float* sums;
  int64_t parts, folded, columns;
  float* to;  ///< folded x columns
  Traffic traffic(int64_t n) const { return {parts * columns * int64_t(sizeof(float)), n * int64_t(sizeof(float))}; }
  CORTADO_HD void operator()(int64_t call) const {
    const int64_t first = call / columns, column = call % columns;
    double sum = 0;
    for (int64_t part = first; part < parts; part += folded) sum += double(sums[part * columns + column]);
    to[call] = float(sum);
  }
};

struct PartOfColumn {
  const float* sums;
  int64_t columns;
  Traffic traffic(int64_t n) const { return {n * int64_t(sizeof(float)), columns * int64_t(sizeof(float))}; }
  CORTADO_HD float operator()(int64_t column, int64_t part) const { return sums[part * columns + column]; }
};

/// totals[c] and totals[channels + c] = the two sums over channel c. `scratch` has parts.bytes().
template <int kWidth, typename Term>
void sum_packs(Context& context, const PackParts& parts, const Term& term, float* totals, void* scratch) {
  float* sums = static_cast<float*>(scratch);
  const int64_t columns = 2 * parts.p.channels;
  int64_t left = parts.parts();
  for_each(context, parts.calls(), SumPart<kWidth, Term>{parts, term, sums});
  if (parts.folded > 0) {
    float* folded = sums + left * columns;
    for_each(context, parts.folded * columns, FoldParts{sums, left, parts.folded, columns, folded});
    sums = folded;
    left = parts.folded;
  }
  reduce_rows(context, columns, left, PartOfColumn{sums, columns}, totals);
}

}  // namespace cortado::kernels
