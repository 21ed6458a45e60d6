#pragma once

// N x C x inner values as packs (core/loops/pack.h), for memory-bound .cu files whose loops keep a channel's
// coefficients in registers. kernels/device/channel_pair_sums.h sums over them.
//
// A pack's values belong to one channel if a channel's values are adjacent, else to as many adjacent channels. If the
// extent is not a multiple of a pack, packs are single values. The work of a thread depends only on the tensor, so sums
// are equal on all devices.

#include "core/loops/for_each.h"
#include "core/loops/pack.h"

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

/// The memory format of a pack, for loads that are issued long before the values are used.
template <typename T, int kWidth>
struct alignas(kWidth * sizeof(T)) RawValues {
  T v[kWidth];

  CORTADO_HD Values<kWidth> floats() const {
    Values<kWidth> values;
    for (int k = 0; k < kWidth; ++k) values.v[k] = float(v[k]);
    return values;
  }
};

template <int kWidth, typename T>
CORTADO_HD RawValues<T, kWidth> load_raw(const T* p) {
  return *reinterpret_cast<const RawValues<T, kWidth>*>(p);
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
  int64_t n, channels, inner;  ///< inner: packs of a channel's plane, or positions if `last`
  int64_t groups;              ///< of adjacent channels, if `last`
  bool last;                   ///< channels are adjacent in memory

  int64_t packs() const { return last ? n * inner * groups : n * channels * inner; }

  /// The pack's coefficients, from an aligned array with one per channel.
  template <int kWidth>
  CORTADO_HD Values<kWidth> of_channels(const float* per_channel, int64_t c) const {
    if (last) return load_values<kWidth>(per_channel + c);
    Values<kWidth> values;
    for (int k = 0; k < kWidth; ++k) values.v[k] = per_channel[c];
    return values;
  }
};

/// The number of values in 16 bytes, or 1.
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

/// The packs of one call; all of them belong to the channels from c on.
struct PackRun {
  int64_t pack, step, count, c;
};

/// Several packs per call, so that channel coefficients are read once for them. Adjacent calls take adjacent packs.
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

}  // namespace cortado::kernels
