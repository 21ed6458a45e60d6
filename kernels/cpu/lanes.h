#pragma once

// Sixteen 32-bit floats at once, for the candidates that are our own: one register where the CPU has AVX-512, two or
// four elsewhere (the compiler splits them, and keeps them in memory between operations). Comparisons give a mask for
// `mask ? a : b`.

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace cortado::kernels {

constexpr int kLanes = 16;
using Lanes = float __attribute__((vector_size(64)));

inline Lanes spread(float value) {
#ifdef __AVX512F__
  return Lanes(_mm512_set1_ps(value));
#else
  return value - Lanes{};
#endif
}

/// Lanes anywhere in memory. Not memcpy: a compiler may be held to copying fewer bytes at once (cmake/constants.cc).
using LanesInMemory = float __attribute__((vector_size(64), aligned(4), may_alias));
inline Lanes load(const float* p) { return *reinterpret_cast<const LanesInMemory*>(p); }
inline void store(float* p, const Lanes& v) { *reinterpret_cast<LanesInMemory*>(p) = v; }

/// The first n of sixteen; the others are 0.
inline Lanes load_some(const float* p, int n) {
#ifdef __AVX512F__
  return Lanes(_mm512_maskz_loadu_ps(__mmask16((1u << n) - 1), p));
#else
  Lanes v{};
  std::memcpy(&v, p, size_t(n) * sizeof(float));
  return v;
#endif
}
inline void store_some(float* p, const Lanes& v, int n) {
#ifdef __AVX512F__
  _mm512_mask_storeu_ps(p, __mmask16((1u << n) - 1), __m512(v));
#else
  std::memcpy(p, &v, size_t(n) * sizeof(float));
#endif
}

/// Past the caches, for large results that nobody reads soon. p is aligned to 64 bytes.
inline void stream(float* p, const Lanes& v) {
#ifdef __AVX512F__
  _mm512_stream_ps(p, __m512(v));
#else
  store(p, v);
#endif
}

/// The larger of each pair; b where they do not compare.
inline Lanes larger(const Lanes& a, const Lanes& b) { return a > b ? a : b; }
/// The smaller of each pair; a where they do not compare.
inline Lanes smaller(const Lanes& a, const Lanes& b) { return a > b ? b : a; }

/// Bit i: whether low < v[i] < high.
inline uint16_t bits_between(const Lanes& v, const Lanes& low, const Lanes& high) {
#ifdef __AVX512F__
  return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(__m512(v), __m512(low), _CMP_GT_OQ), __m512(v), __m512(high),
                                 _CMP_LT_OQ);
#else
  uint16_t bits = 0;
  for (int i = 0; i < kLanes; ++i) bits |= uint16_t((v[i] > low[i] && v[i] < high[i]) << i);
  return bits;
#endif
}
/// v where its bit is set, else 0.
inline Lanes where(uint16_t bits, const Lanes& v) {
#ifdef __AVX512F__
  return Lanes(_mm512_maskz_mov_ps(bits, __m512(v)));
#else
  Lanes kept = v;
  for (int i = 0; i < kLanes; ++i) kept[i] = bits >> i & 1 ? v[i] : 0;
  return kept;
#endif
}

inline Lanes square_root(const Lanes& v) {
#ifdef __AVX512F__
  return Lanes(_mm512_maskz_sqrt_ps(__mmask16(0xffff), __m512(v)));
#else
  Lanes r = v;
  for (int i = 0; i < kLanes; ++i) r[i] = std::sqrt(v[i]);
  return r;
#endif
}

/// v^-1/2 to two units in the last place, for finite v > 0 that are not denormal.
inline Lanes inverse_root(const Lanes& v) {
#ifdef __AVX512F__
  const Lanes r = Lanes(_mm512_maskz_rsqrt14_ps(__mmask16(0xffff), __m512(v)));
  return r * (1.5f - 0.5f * v * r * r);  // one step of Newton's; the divider would be ten times slower
#else
  return 1.0f / square_root(v);
#endif
}

/// e^v to two units in the last place; 0 below -87.33, infinity above 88.72, NaN for NaN. After v = n ln 2 + r, |r|
/// <= ln 2 / 2, the Taylor polynomial of e^r to the seventh power.
inline Lanes exponential(const Lanes& v) {
  using Integers = int32_t __attribute__((vector_size(64)));
  const Lanes capped = v > 88.8f ? spread(88.8f) : v < -88.8f ? spread(-88.8f) : v;
  const Lanes magic = spread(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const Lanes n = (capped * 1.44269504f + magic) - magic;
  const Lanes r = (capped - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  Lanes p = r * (1.0f / 5040) + 1.0f / 720;
  for (float c : {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) p = p * r + c;
  const Integers half = __builtin_convertvector(n, Integers) >> 1, rest = __builtin_convertvector(n, Integers) - half;
  const Lanes result = p * Lanes((half + 127) << 23) * Lanes((rest + 127) << 23);  // 2^n in two factors: n may be 128
  return v < -87.33f ? Lanes{} : result;
}

inline float sum_of(const Lanes& v) {
  float sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += v[i];
  return sum;
}

}  // namespace cortado::kernels
