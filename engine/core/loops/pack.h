#pragma once

// A pack: the neighbouring values that a device moves with one load or store of sixteen bytes (four floats, eight
// 16-bit values), to be computed with as floats. A loop that is bound by memory wants it. Neighbouring packs may begin
// at multiples of sixteen bytes only: ask starts_pack() of every array, and take single values where it says no.

#include <cstdint>

#include "core/context.h"
#include "core/host_device.h"

namespace cortado {

template <typename T>
struct Pack {
  static constexpr int kWidth = 16 / int(sizeof(T));
  float v[kWidth];
};

/// Whether copying by packs is worth asking for on the context's device: compilers for CPUs make packs of single
/// values.
inline bool packs_pay(const Context& context) { return !context.device.is_cpu(); }

/// Whether packs may be read or written from `p` on.
CORTADO_HD inline bool starts_pack(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

/// How they lie in memory: copied as a whole, so that compilers make one instruction of it.
template <typename T>
struct alignas(16) StoredPack {
  T v[Pack<T>::kWidth];
};

/// The Pack<T>::kWidth values at `p`, which starts_pack().
template <typename T>
CORTADO_HD inline Pack<T> load_pack(const T* p) {
  const StoredPack<T> stored = *reinterpret_cast<const StoredPack<T>*>(p);
  Pack<T> pack;
  for (int k = 0; k < Pack<T>::kWidth; ++k) pack.v[k] = float(stored.v[k]);
  return pack;
}

/// Rounds to T and writes. `p` starts_pack().
template <typename T>
CORTADO_HD inline void store_pack(T* p, const Pack<T>& pack) {
  StoredPack<T> stored;
  for (int k = 0; k < Pack<T>::kWidth; ++k) stored.v[k] = T(pack.v[k]);
  *reinterpret_cast<StoredPack<T>*>(p) = stored;
}

}  // namespace cortado
