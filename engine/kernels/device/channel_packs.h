#pragma once

// N x C x inner values as packs (core/loops/pack.h), for .cu files that are bound by memory: loops that want one
// channel's coefficients in registers. kernels/device/channel_pair_sums.h makes sums over them.
//
// A pack's values are of one channel where a channel's values are neighbours, else of as many neighbouring channels.
// Where sixteen bytes do not divide the one or the other, packs are single values. What a thread does depends on the
// tensor alone, so sums are the same on every device, whatever its size.

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

/// A pack as it lies in memory, for those who load it long before they compute with it.
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

}  // namespace cortado::kernels
