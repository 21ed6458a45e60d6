#pragma once

// Vectors wider than the CPU's registers. GCC splits its own vector types but keeps the parts in memory, and it
// scalarizes selects. Two halves that fit registers avoid both.

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#ifdef __SSE__
#include <immintrin.h>
#endif

namespace cortado::kernels {

using Vec4f = float __attribute__((vector_size(16)));
using Vec4i = int32_t __attribute__((vector_size(16)));
using Vec8f = float __attribute__((vector_size(32)));
using Vec8i = int32_t __attribute__((vector_size(32)));

/// For a vector that fits a register: mask ? a : b per lane.
template <typename Mask, typename Vec>
[[gnu::always_inline]] inline Vec select(const Mask& mask, const Vec& a, const Vec& b) {
  return mask ? a : b;
}

/// A vector with twice the lanes of `Half`, which is a vector that fits a register or itself a Halves. Arithmetic and
/// comparisons are per lane; a comparison returns a mask for select().
template <typename Half>
struct Halves {
  using Lane = std::remove_cvref_t<decltype(std::declval<Half>()[0])>;
  static constexpr int kHalf = int(sizeof(Half) / sizeof(Lane));

  Half low, high;

  Lane operator[](int lane) const { return lane < kHalf ? low[lane] : high[lane - kHalf]; }
  [[gnu::always_inline]] Halves operator-() const { return {-low, -high}; }
  [[gnu::always_inline]] Halves& operator+=(const Halves& b) { return low += b.low, high += b.high, *this; }
  [[gnu::always_inline]] Halves& operator-=(const Halves& b) { return low -= b.low, high -= b.high, *this; }
  [[gnu::always_inline]] Halves& operator*=(const Halves& b) { return low *= b.low, high *= b.high, *this; }
};

#define CORTADO_HALVES_OPERATOR(op)                                                                      \
  template <typename Half>                                                                               \
  [[gnu::always_inline]] inline auto operator op(const Halves<Half>& a, const Halves<Half>& b) {         \
    return Halves<decltype(a.low op b.low)>{a.low op b.low, a.high op b.high};                           \
  }                                                                                                      \
  template <typename Half>                                                                               \
  [[gnu::always_inline]] inline auto operator op(const Halves<Half>& a, typename Halves<Half>::Lane b) { \
    return Halves<decltype(a.low op b)>{a.low op b, a.high op b};                                        \
  }                                                                                                      \
  template <typename Half>                                                                               \
  [[gnu::always_inline]] inline auto operator op(typename Halves<Half>::Lane a, const Halves<Half>& b) { \
    return Halves<decltype(a op b.low)>{a op b.low, a op b.high};                                        \
  }
CORTADO_HALVES_OPERATOR(+)
CORTADO_HALVES_OPERATOR(-)
CORTADO_HALVES_OPERATOR(*)
CORTADO_HALVES_OPERATOR(/)
CORTADO_HALVES_OPERATOR(&)
CORTADO_HALVES_OPERATOR(|)
CORTADO_HALVES_OPERATOR(<<)
CORTADO_HALVES_OPERATOR(>>)
CORTADO_HALVES_OPERATOR(<)
CORTADO_HALVES_OPERATOR(>)
CORTADO_HALVES_OPERATOR(==)
CORTADO_HALVES_OPERATOR(!=)
#undef CORTADO_HALVES_OPERATOR

template <typename Mask, typename Half>
[[gnu::always_inline]] inline Halves<Half> select(const Halves<Mask>& mask, const Halves<Half>& a,
                                                  const Halves<Half>& b) {
  return {select(mask.low, a.low, b.low), select(mask.high, a.high, b.high)};
}

// Functions that depend on the register type, and their versions for halves.

inline Vec4f larger(const Vec4f& a, const Vec4f& b) {
#ifdef __SSE__
  return _mm_max_ps(a, b);
#else
  return a > b ? a : b;
#endif
}
inline Vec4f smaller(const Vec4f& a, const Vec4f& b) {
#ifdef __SSE__
  return _mm_min_ps(b, a);
#else
  return a > b ? b : a;
#endif
}
inline Vec4f square_root(const Vec4f& v) {
#ifdef __SSE__
  return _mm_sqrt_ps(v);
#else
  return Vec4f{std::sqrt(v[0]), std::sqrt(v[1]), std::sqrt(v[2]), std::sqrt(v[3])};
#endif
}
inline Vec4i to_integers(const Vec4f& v) { return __builtin_convertvector(v, Vec4i); }
inline Vec4f as_floats(const Vec4i& v) { return Vec4f(v); }
inline void stream(float* p, const Vec4f& v) {
#ifdef __SSE__
  _mm_stream_ps(p, v);
#else
  *reinterpret_cast<Vec4f*>(p) = v;
#endif
}
/// Bit i is lane i of the mask.
inline uint32_t bits_of(const Vec4i& mask) {
#ifdef __SSE__
  return uint32_t(_mm_movemask_ps(__m128(mask)));
#else
  return uint32_t((mask[0] & 1) | (mask[1] & 2) | (mask[2] & 4) | (mask[3] & 8));
#endif
}

#ifdef __AVX__
inline Vec8f larger(const Vec8f& a, const Vec8f& b) { return _mm256_max_ps(a, b); }
inline Vec8f smaller(const Vec8f& a, const Vec8f& b) { return _mm256_min_ps(b, a); }
inline Vec8f square_root(const Vec8f& v) { return _mm256_sqrt_ps(v); }
inline Vec8i to_integers(const Vec8f& v) { return __builtin_convertvector(v, Vec8i); }
inline Vec8f as_floats(const Vec8i& v) { return Vec8f(v); }
inline void stream(float* p, const Vec8f& v) { _mm256_stream_ps(p, v); }
inline uint32_t bits_of(const Vec8i& mask) { return uint32_t(_mm256_movemask_ps(__m256(mask))); }
#endif

template <typename Half>
[[gnu::always_inline]] inline Halves<Half> larger(const Halves<Half>& a, const Halves<Half>& b) {
  return {larger(a.low, b.low), larger(a.high, b.high)};
}
template <typename Half>
[[gnu::always_inline]] inline Halves<Half> smaller(const Halves<Half>& a, const Halves<Half>& b) {
  return {smaller(a.low, b.low), smaller(a.high, b.high)};
}
template <typename Half>
[[gnu::always_inline]] inline Halves<Half> square_root(const Halves<Half>& v) {
  return {square_root(v.low), square_root(v.high)};
}
template <typename Half>
[[gnu::always_inline]] inline auto to_integers(const Halves<Half>& v) {
  return Halves<decltype(to_integers(v.low))>{to_integers(v.low), to_integers(v.high)};
}
template <typename Half>
[[gnu::always_inline]] inline auto as_floats(const Halves<Half>& v) {
  return Halves<decltype(as_floats(v.low))>{as_floats(v.low), as_floats(v.high)};
}
template <typename Half>
[[gnu::always_inline]] inline void stream(float* p, const Halves<Half>& v) {
  stream(p, v.low);
  stream(p + Halves<Half>::kHalf, v.high);
}
template <typename Half>
[[gnu::always_inline]] inline uint32_t bits_of(const Halves<Half>& mask) {
  return bits_of(mask.low) | bits_of(mask.high) << Halves<Half>::kHalf;
}

}  // namespace cortado::kernels
