#pragma once

// Sixteen 32-bit floats at once, for the candidates that are our own: one register where the CPU has AVX-512, two or four
// elsewhere (the compiler splits them). Comparisons give a mask for `mask ? a : b`.

#include <cstring>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace cortado::kernels {

constexpr int kLanes = 16;
using Lanes = float __attribute__((vector_size(64)));

inline Lanes spread(float value) { return Lanes{} + value; }

inline Lanes load(const float* p) {
  Lanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, const Lanes& v) { std::memcpy(p, &v, sizeof v); }

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

inline Lanes larger(const Lanes& a, const Lanes& b) { return a > b ? a : b; }

}  // namespace cortado::kernels
