#pragma once

// Vectors of 16 32-bit floats for our own candidates: one register with AVX-512, else halves of eight or quarters of
// four. Arithmetic, comparisons and v[lane] are those of compiler vectors; a comparison returns a mask for select(mask,
// a, b).

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "kernels/cpu/halves.h"

namespace cortado::kernels {

constexpr int kLanes = 16;
#if defined(__AVX512F__)
using Vec16f = float __attribute__((vector_size(64)));
using Vec16i = int32_t __attribute__((vector_size(64)));
using RegisterVec = Vec16f;
#elif defined(__AVX__)
using Vec16f = Halves<Vec8f>;
using Vec16i = Halves<Vec8i>;
using RegisterVec = Vec8f;
#else
using Vec16f = Halves<Halves<Vec4f>>;
using Vec16i = Halves<Halves<Vec4i>>;
using RegisterVec = Vec4f;
#endif

/// The lanes of one register, kWidth, and the number of registers for 16 lanes.
constexpr int kWidth = int(sizeof(RegisterVec) / sizeof(float)), kRegisters = kLanes / kWidth;

/// The lanes as an array, for scalar access.
struct alignas(64) Lanes {
  float of[kLanes];
  float& operator[](int lane) { return of[lane]; }
  float operator[](int lane) const { return of[lane]; }
};

/// An unaligned vector in memory. Not memcpy, because a compiler option may limit the bytes per copy
/// (cmake/constants.cc).
template <typename Vec>
struct InMemory {
  using Unaligned __attribute__((aligned(4), may_alias)) = Vec;
  [[gnu::always_inline]] static Vec load(const float* p) { return *reinterpret_cast<const Unaligned*>(p); }
  [[gnu::always_inline]] static void store(float* p, const Vec& v) { *reinterpret_cast<Unaligned*>(p) = v; }
};
template <typename Half>
struct InMemory<Halves<Half>> {
  [[gnu::always_inline]] static Halves<Half> load(const float* p) {
    return {InMemory<Half>::load(p), InMemory<Half>::load(p + Halves<Half>::kHalf)};
  }
  [[gnu::always_inline]] static void store(float* p, const Halves<Half>& v) {
    InMemory<Half>::store(p, v.low);
    InMemory<Half>::store(p + Halves<Half>::kHalf, v.high);
  }
};
template <typename Vec = Vec16f>
[[gnu::always_inline]] inline Vec load(const float* p) {
  return InMemory<Vec>::load(p);
}
template <typename Vec>
[[gnu::always_inline]] inline void store(float* p, const Vec& v) {
  InMemory<Vec>::store(p, v);
}

inline Lanes lanes_of(const Vec16f& v) {
  Lanes lanes;
  store(lanes.of, v);
  return lanes;
}

/// `value` in all lanes.
template <typename Vec = Vec16f>
[[gnu::always_inline]] inline Vec spread(float value) {
  return value - Vec{};
}
[[gnu::always_inline]] inline Vec16i spread_integer(int32_t value) { return value - Vec16i{}; }

/// The first n of 16 values; the others are 0. Branch-free: FMA contraction, and with it the last bit, could depend on
/// a branch.
inline Vec16f load_some(const float* p, int n) {
#if defined(__AVX512F__)
  return Vec16f(_mm512_maskz_loadu_ps(__mmask16((1u << n) - 1), p));
#elif defined(__AVX__)
  constexpr Vec8i kLane = {0, 1, 2, 3, 4, 5, 6, 7};
  return {_mm256_maskload_ps(p, __m256i(kLane < n)), _mm256_maskload_ps(p + 8, __m256i(kLane < n - 8))};
#else
  Lanes lanes{};
  for (int i = 0; i < n; ++i) lanes[i] = p[i];
  return load(lanes.of);
#endif
}
inline void store_some(float* p, const Vec16f& v, int n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, __mmask16((1u << n) - 1), __m512(v));
#else
  if (n == kLanes) return store(p, v);  // masked stores are slow on AMD CPUs
  const Lanes lanes = lanes_of(v);
  for (int i = 0; i < n; ++i) p[i] = lanes[i];
#endif
}

#ifdef __AVX512F__
/// A non-temporal store, for large results that are not read soon. p must be aligned to 64 bytes.
inline void stream(float* p, const Vec16f& v) { _mm512_stream_ps(p, __m512(v)); }

/// a > b ? a : b per lane; b if unordered.
inline Vec16f larger(const Vec16f& a, const Vec16f& b) { return a > b ? a : b; }
/// a > b ? b : a per lane; a if unordered.
inline Vec16f smaller(const Vec16f& a, const Vec16f& b) { return a > b ? b : a; }

inline Vec16f square_root(const Vec16f& v) { return Vec16f(_mm512_maskz_sqrt_ps(__mmask16(0xffff), __m512(v))); }

/// Rounds towards 0.
inline Vec16i to_integers(const Vec16f& v) { return __builtin_convertvector(v, Vec16i); }
/// Reinterprets the bits as floats.
inline Vec16f as_floats(const Vec16i& v) { return Vec16f(v); }
#endif

/// Bit i: low < v[i] < high.
inline uint16_t bits_between(const Vec16f& v, const Vec16f& low, const Vec16f& high) {
#ifdef __AVX512F__
  return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(__m512(v), __m512(low), _CMP_GT_OQ), __m512(v), __m512(high),
                                 _CMP_LT_OQ);
#else
  return uint16_t(bits_of((v > low) & (v < high)));
#endif
}
/// v where its bit is set, else 0.
inline Vec16f where(uint16_t bits, const Vec16f& v) {
#ifdef __AVX512F__
  return Vec16f(_mm512_maskz_mov_ps(bits, __m512(v)));
#else
  alignas(64) static constexpr int32_t kBits[kLanes] = {1,       1 << 1,  1 << 2,  1 << 3, 1 << 4,  1 << 5,
                                                        1 << 6,  1 << 7,  1 << 8,  1 << 9, 1 << 10, 1 << 11,
                                                        1 << 12, 1 << 13, 1 << 14, 1 << 15};
  Vec16i of_lane;
  std::memcpy(&of_lane, kBits, sizeof of_lane);
  return select((spread_integer(bits) & of_lane) == of_lane, v, Vec16f{});
#endif
}

/// v^-1/2 to 2 ulp, for finite normal v > 0.
inline Vec16f inverse_root(const Vec16f& v) {
#ifdef __AVX512F__
  const Vec16f r = Vec16f(_mm512_maskz_rsqrt14_ps(__mmask16(0xffff), __m512(v)));
  return r * (1.5f - 0.5f * v * r * r);  // one Newton step; a division would be ten times slower
#else
  return 1.0f / square_root(v);
#endif
}

/// e^v to 2 ulp; 0 below -87.33, infinity above 88.72, NaN for NaN. Uses v = n ln 2 + r with |r| <= ln 2 / 2 and the
/// Taylor polynomial of e^r of degree 7.
template <typename Vec>
Vec exponential(const Vec& v) {
  const Vec capped = select(v > 88.8f, spread<Vec>(88.8f), select(v < -88.8f, spread<Vec>(-88.8f), v));
  const Vec magic = spread<Vec>(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const Vec n = (capped * 1.44269504f + magic) - magic;
  const Vec r = (capped - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  Vec p = r * (1.0f / 5040) + 1.0f / 720;
  for (float c : {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) p = p * r + c;
  const auto whole = to_integers(n), half = whole >> 1, rest = whole - half;
  // 2^n as two factors, because n may be 128.
  const Vec result = p * as_floats((half + 127) << 23) * as_floats((rest + 127) << 23);
  return select(v < -87.33f, Vec{}, result);
}

inline float sum_of(const Vec16f& v) {
  const Lanes lanes = lanes_of(v);
  float sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += lanes[i];
  return sum;
}

}  // namespace cortado::kernels
