#pragma once

// Copies and zeros of tensors, on all threads of the context's device. For .cu files, like core/loops/for_each.h.

#include "layers/common/loops/typed.h"

namespace cortado {

namespace {

template <typename T>
struct CopyValue {
  const T* from;
  T* to;
  using Arrays = ByPacks<In<&CopyValue::from>, Out<&CopyValue::to>>;
  CORTADO_HD void operator()(int64_t i) const { to[i] = from[i]; }
};

template <typename T>
struct ClearValue {
  T* to;
  using Arrays = ByPacks<Out<&ClearValue::to>>;
  CORTADO_HD void operator()(int64_t i) const { to[i] = 0; }
};

}  // namespace

/// Both tensors must have the same type and layout; 8-bit integers may differ in signedness.
inline void copy_values(Context& context, const Tensor& from, const Tensor& to) {
  if (is_8_bit(from.spec.dtype))
    return for_each(context, from.spec.elements(), CopyValue<uint8_t>{from.as<const uint8_t>(), to.as<uint8_t>()});
  for_each_typed<CopyValue>(context, from, to);
}

inline void clear_values(Context& context, const Tensor& to) { for_each_typed<ClearValue>(context, to); }

}  // namespace cortado
