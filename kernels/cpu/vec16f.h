#pragma once

// Sixteen 32-bit floats at once, for the candidates that are our own: one register where the CPU has AVX-512, two or
// four elsewhere (the compiler splits them, and keeps them in memory between operations). Comparisons give a mask for
// `mask ? a : b`.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#ifdef __AVX__
#include <immintrin.h>
#endif

namespace cortado::kernels {

constexpr int kLanes = 16;
using Vec16f = float __attribute__((vector_size(64)));

inline Vec16f spread(float value) {
#ifdef __AVX512F__
  return Vec16f(_mm512_set1_ps(value));
#else
  return value - Vec16f{};
#endif
}

/// Vec16f anywhere in memory. Not memcpy: a compiler may be held to copying fewer bytes at once (cmake/constants.cc).
using UnalignedVec16f = float __attribute__((vector_size(64), aligned(4), may_alias));
inline Vec16f load(const float* p) { return *reinterpret_cast<const UnalignedVec16f*>(p); }
inline void store(float* p, const Vec16f& v) { *reinterpret_cast<UnalignedVec16f*>(p) = v; }

/// The first n of sixteen; the others are 0.
inline Vec16f load_some(const float* p, int n) {
#ifdef __AVX512F__
  return Vec16f(_mm512_maskz_loadu_ps(__mmask16((1u << n) - 1), p));
#else
  Vec16f v{};
  std::memcpy(&v, p, size_t(n) * sizeof(float));
  return v;
#endif
}
inline void store_some(float* p, const Vec16f& v, int n) {
#ifdef __AVX512F__
  _mm512_mask_storeu_ps(p, __mmask16((1u << n) - 1), __m512(v));
#else
  std::memcpy(p, &v, size_t(n) * sizeof(float));
#endif
}

/// Past the caches, for large results that are not read soon. p is aligned to 64 bytes.
inline void stream(float* p, const Vec16f& v) {
#ifdef __AVX512F__
  _mm512_stream_ps(p, __m512(v));
#else
  store(p, v);
#endif
}

#if defined(__AVX__) && !defined(__AVX512F__)
/// op(a, b), half by half: of a choice between two vectors GCC makes sixteen scalar ones where a register holds
/// eight floats.
template <typename Op>
Vec16f by_halves(const Vec16f& a, const Vec16f& b, const Op& op) {
  Vec16f to;
  for (int half = 0; half < 2; ++half)
    reinterpret_cast<__m256*>(&to)[half] =
        op(reinterpret_cast<const __m256*>(&a)[half], reinterpret_cast<const __m256*>(&b)[half]);
  return to;
}
#endif

/// The larger of each pair, a > b ? a : b; so b where they do not compare.
inline Vec16f larger(const Vec16f& a, const Vec16f& b) {
#if defined(__AVX__) && !defined(__AVX512F__)
  return by_halves(a, b, [](auto x, auto y) { return _mm256_max_ps(x, y); });
#else
  return a > b ? a : b;
#endif
}
/// The smaller of each pair, a > b ? b : a; so a where they do not compare.
inline Vec16f smaller(const Vec16f& a, const Vec16f& b) {
#if defined(__AVX__) && !defined(__AVX512F__)
  return by_halves(a, b, [](auto x, auto y) { return _mm256_min_ps(y, x); });
#else
  return a > b ? b : a;
#endif
}

/// Bit i: whether low < v[i] < high.
inline uint16_t bits_between(const Vec16f& v, const Vec16f& low, const Vec16f& high) {
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
inline Vec16f where(uint16_t bits, const Vec16f& v) {
#ifdef __AVX512F__
  return Vec16f(_mm512_maskz_mov_ps(bits, __m512(v)));
#else
  Vec16f kept = v;
  for (int i = 0; i < kLanes; ++i) kept[i] = bits >> i & 1 ? v[i] : 0;
  return kept;
#endif
}

inline Vec16f square_root(const Vec16f& v) {
#ifdef __AVX512F__
  return Vec16f(_mm512_maskz_sqrt_ps(__mmask16(0xffff), __m512(v)));
#else
  Vec16f r = v;
  for (int i = 0; i < kLanes; ++i) r[i] = std::sqrt(v[i]);
  return r;
#endif
}

/// v^-1/2 to two units in the last place, for finite v > 0 that are not denormal.
inline Vec16f inverse_root(const Vec16f& v) {
#ifdef __AVX512F__
  const Vec16f r = Vec16f(_mm512_maskz_rsqrt14_ps(__mmask16(0xffff), __m512(v)));
  return r * (1.5f - 0.5f * v * r * r);  // one step of Newton's; the divider would be ten times slower
#else
  return 1.0f / square_root(v);
#endif
}

/// e^v to two units in the last place; 0 below -87.33, infinity above 88.72, NaN for NaN. After v = n ln 2 + r, |r|
/// <= ln 2 / 2, the Taylor polynomial of e^r to the seventh power.
inline Vec16f exponential(const Vec16f& v) {
  using Integers = int32_t __attribute__((vector_size(64)));
  const Vec16f capped = v > 88.8f ? spread(88.8f) : v < -88.8f ? spread(-88.8f) : v;
  const Vec16f magic = spread(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const Vec16f n = (capped * 1.44269504f + magic) - magic;
  const Vec16f r = (capped - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  Vec16f p = r * (1.0f / 5040) + 1.0f / 720;
  for (float c : {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) p = p * r + c;
  const Integers half = __builtin_convertvector(n, Integers) >> 1, rest = __builtin_convertvector(n, Integers) - half;
  const Vec16f result =
      p * Vec16f((half + 127) << 23) * Vec16f((rest + 127) << 23);  // 2^n in two factors: n may be 128
  return v < -87.33f ? Vec16f{} : result;
}

inline float sum_of(const Vec16f& v) {
  float sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += v[i];
  return sum;
}

}  // namespace cortado::kernels
