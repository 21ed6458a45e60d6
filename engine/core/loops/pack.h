#pragma once

// A pack: the adjacent values that a device loads or stores at once, 16 bytes (four floats, eight 16-bit values),
// converted to float for arithmetic. Packs help memory-bound loops. They must be aligned to 16 bytes: check
// starts_pack() for every array, and use single values otherwise.

#include <cstdint>

#include "core/context.h"
#include "core/host_device.h"

namespace cortado {

template <typename T>
struct Pack {
  static constexpr int kWidth = 16 / int(sizeof(T));
  float v[kWidth];
};

/// Whether packs help on the context's device; compilers for CPUs vectorize single values.
inline bool packs_pay(const Context& context) { return !context.device.is_cpu(); }

/// Whether `p` is aligned for packs.
CORTADO_HD inline bool starts_pack(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

/// The memory format of a pack. Copied as a whole, so that it compiles to one instruction.
template <typename T>
struct alignas(16) StoredPack {
  T v[Pack<T>::kWidth];
};

/// Loads the Pack<T>::kWidth values at `p`, which must be aligned (starts_pack()).
template <typename T>
CORTADO_HD inline Pack<T> load_pack(const T* p) {
  const StoredPack<T> stored = *reinterpret_cast<const StoredPack<T>*>(p);
  Pack<T> pack;
  for (int k = 0; k < Pack<T>::kWidth; ++k) pack.v[k] = float(stored.v[k]);
  return pack;
}

/// Rounds to T and stores. `p` must be aligned (starts_pack()).
template <typename T>
CORTADO_HD inline void store_pack(T* p, const Pack<T>& pack) {
  StoredPack<T> stored;
  for (int k = 0; k < Pack<T>::kWidth; ++k) stored.v[k] = T(pack.v[k]);
  *reinterpret_cast<StoredPack<T>*>(p) = stored;
}

}  // namespace cortado
