#pragma once

// Helpers for functors that are written once for single values and for packs of `kWide` adjacent values (16 bytes).
// They load and store the i-th pack of an array.

#include "core/loops/by_packs.h"

namespace cortado::kernels {

template <typename Value, int kWide>
struct alignas(kWide == 1 ? alignof(Value) : 16) Lanes {
  Value v[kWide];
};

/// With kWide > 1, `from` must be aligned for packs.
template <int kWide, typename Value>
CORTADO_HD inline Lanes<Value, kWide> lanes_at(const Value* from, int64_t i) {
  Lanes<Value, kWide> lanes;
  if constexpr (kWide == 1)
    lanes.v[0] = from[i];
  else
    packs::move<kWide* int(sizeof(Value))>(lanes.v, from + i * kWide);
  return lanes;
}

template <int kWide, typename Value>
CORTADO_HD inline void put_lanes(Value* to, int64_t i, const Lanes<Value, kWide>& lanes) {
  if constexpr (kWide == 1)
    to[i] = lanes.v[0];
  else
    packs::move<kWide* int(sizeof(Value))>(to + i * kWide, lanes.v);
}

/// Rounds to Value.
template <int kWide, typename Value>
CORTADO_HD inline void put_floats(Value* to, int64_t i, const float* floats) {
  Lanes<Value, kWide> lanes;
  for (int k = 0; k < kWide; ++k) lanes.v[k] = Value(floats[k]);
  put_lanes<kWide>(to, i, lanes);
}

}  // namespace cortado::kernels
