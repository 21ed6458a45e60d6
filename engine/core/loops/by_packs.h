#pragma once

// Vectorized memory access for element-wise functors: packs of 16 bytes. A functor that uses i only as an array index
// declares its arrays:
//   template <typename T>
//   struct Twice {
//     const T* x;
//     T* y;
//     using Arrays = ByPacks<In<&Twice::x>, Out<&Twice::y>>;
//     CORTADO_HD void operator()(int64_t i) const { y[i] = 2 * float(x[i]); }
//   };
// A device then loads a pack of each In into registers, runs a copy of the functor on them as if they were the arrays,
// and stores the pack of each Out. The arithmetic is written once. CPUs do not use packs, because their compilers
// vectorize loops. InOut is for arrays that are read and written. A functor with optional arrays defines `bool
// by_packs() const`, which returns false if one is missing.

#include <cstring>
#include <type_traits>

#include "core/device/recording.h"
#include "core/host_device.h"
#include "core/loops/pack.h"

namespace cortado {

namespace packs {

template <typename Member>
struct ElementOf;
template <typename Functor, typename Value>
struct ElementOf<Value * Functor::*> {
  using type = std::remove_const_t<Value>;
};

template <auto kMember, bool kRead, bool kWritten>
struct Array {
  using Value = typename ElementOf<decltype(kMember)>::type;
  static constexpr auto member = kMember;
  static constexpr bool read = kRead, written = kWritten;
};

}  // namespace packs

template <auto kMember>
struct In : packs::Array<kMember, true, false> {};
template <auto kMember>
struct Out : packs::Array<kMember, false, true> {};
template <auto kMember>
struct InOut : packs::Array<kMember, true, true> {};

template <typename... Each>
struct ByPacks {
  /// Elements per pack: 16 bytes of the narrowest array (8 for bytes).
  static constexpr int kWidth = 8 / ((... && (sizeof(typename Each::Value) == 4)) ? 2 : 1);
};

template <typename Functor>
concept Vectorizable = requires {
  Functor::Arrays::kWidth;
};

namespace packs {

template <int kBytes>
struct alignas(kBytes) Word {
  uint32_t w[kBytes / 4];
};

/// Copies kBytes between addresses aligned for packs.
template <int kBytes>
CORTADO_HD inline void move(void* to, const void* from) {
#ifdef __CUDA_ARCH__
  constexpr int kAtOnce = kBytes < 16 ? kBytes : 16;
  for (int at = 0; at < kBytes / kAtOnce; ++at)
    static_cast<Word<kAtOnce>*>(to)[at] = static_cast<const Word<kAtOnce>*>(from)[at];
#else
  std::memcpy(to, from, size_t(kBytes));
#endif
}

/// One array's pack, in registers.
template <typename Each, int kWidth>
struct Slot {
  static constexpr int kBytes = kWidth * int(sizeof(typename Each::Value));
  alignas(kBytes < 16 ? kBytes : 16) typename Each::Value values[kWidth];

  template <typename Functor>
  CORTADO_HD void enter(Functor& here, int64_t at) {
    if constexpr (Each::read) move<kBytes>(values, here.*Each::member + at);
    here.*Each::member = values;
  }
  template <typename Functor>
  CORTADO_HD void leave(const Functor& functor, int64_t at) const {
    if constexpr (Each::written) move<kBytes>(functor.*Each::member + at, values);
  }
};

template <typename Functor, typename... Each>
bool fit(const Functor& functor, ByPacks<Each...>) {
  if constexpr (requires { functor.by_packs(); })
    if (!functor.by_packs()) return false;
  return (... && (functor.*Each::member != nullptr && starts_pack(functor.*Each::member)));
}

/// Loads the packs, calls `run` for each element on a copy of the functor, and stores the packs.
template <typename Functor, typename Run, typename... Each>
CORTADO_HD void run(const Functor& functor, int64_t at, const Run& run, ByPacks<Each...> arrays) {
  struct : Slot<Each, decltype(arrays)::kWidth>... {
  } slots{};
  Functor here = functor;
  (slots.Slot<Each, decltype(arrays)::kWidth>::enter(here, at), ...);
#ifdef __CUDACC__
#pragma unroll
#endif
  for (int k = 0; k < decltype(arrays)::kWidth; ++k) run(here, k);
  (slots.Slot<Each, decltype(arrays)::kWidth>::leave(functor, at), ...);
}

struct RunElement {
  template <typename Functor>
  CORTADO_HD void operator()(const Functor& here, int k) const {
    here(k);
  }
};

/// The elements of a pack belong to channels c, c + step, ...
struct RunElementOfChannel {
  int64_t c, step;
  template <typename Functor>
  CORTADO_HD void operator()(const Functor& here, int k) const {
    here(k, c + k * step);
  }
};

template <typename... Each>
Traffic traffic(int64_t n, ByPacks<Each...>) {
  Traffic sum;
  ((sum += {Each::read ? n * int64_t(sizeof(typename Each::Value)) : 0,
            Each::written ? n * int64_t(sizeof(typename Each::Value)) : 0}),
   ...);
  return sum;
}

}  // namespace packs

/// Whether the functor declares its arrays and all of them are aligned for packs.
template <typename Functor>
bool fits_packs(const Functor& functor) {
  if constexpr (Vectorizable<Functor>)
    return packs::fit(functor, typename Functor::Arrays());
  else
    return false;
}

/// Runs functor(i) for the pack of elements at `at`, a multiple of the width.
template <typename Functor>
CORTADO_HD inline void run_pack(const Functor& functor, int64_t at) {
  packs::run(functor, at, packs::RunElement{}, typename Functor::Arrays());
}

/// Runs functor(i, c + k step) for the pack's k-th element.
template <typename Functor>
CORTADO_HD inline void run_pack(const Functor& functor, int64_t at, int64_t c, int64_t step) {
  packs::run(functor, at, packs::RunElementOfChannel{c, step}, typename Functor::Arrays());
}

}  // namespace cortado
