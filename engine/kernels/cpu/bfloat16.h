#pragma once

// load(), store() etc. (vec16f.h) for 16 bfloat16 values in memory and 32-bit floats in registers. Stores round as
// BFloat16 does: to nearest, ties to even.

#include "core/half.h"
#include "kernels/cpu/vec16f.h"

namespace cortado::kernels {

#ifdef __AVX512F__

[[gnu::always_inline]] inline Vec16f widened(__m256i bits) {
  return Vec16f(Vec16i(_mm512_maskz_cvtepu16_epi32(__mmask16(0xffff), bits)) << 16);
}
[[gnu::always_inline]] inline __m256i narrowed(const Vec16f& v) {
  using Bits = uint32_t __attribute__((vector_size(64)));
  const Bits all = Bits(v), high = all >> 16;
  const Bits nearest = Bits(_mm512_maskz_srli_epi32(__mmask16(0xffff), __m512i(all + 0x7FFF + (high & 1)), 16));
  const Bits rounded = v == v ? nearest : high | 0x40;
  return _mm512_maskz_cvtepi32_epi16(__mmask16(0xffff), __m512i(rounded));
}

[[gnu::always_inline]] inline Vec16f load(const BFloat16* p) {
  return widened(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
[[gnu::always_inline]] inline void store(BFloat16* p, const Vec16f& v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrowed(v));
}
inline Vec16f load_some(const BFloat16* p, int n) {
  return widened(_mm256_maskz_loadu_epi16(__mmask16((1u << n) - 1), p));
}
inline void store_some(BFloat16* p, const Vec16f& v, int n) {
  _mm256_mask_storeu_epi16(p, __mmask16((1u << n) - 1), narrowed(v));
}
/// p must be aligned to 32 bytes.
inline void stream(BFloat16* p, const Vec16f& v) { _mm256_stream_si256(reinterpret_cast<__m256i*>(p), narrowed(v)); }

#else  // supported for completeness, not for speed

inline Vec16f load_some(const BFloat16* p, int n) {
  Lanes lanes{};
  for (int i = 0; i < n; ++i) lanes[i] = p[i];
  return load(lanes.of);
}
inline void store_some(BFloat16* p, const Vec16f& v, int n) {
  const Lanes lanes = lanes_of(v);
  for (int i = 0; i < n; ++i) p[i] = lanes[i];
}
inline Vec16f load(const BFloat16* p) { return load_some(p, kLanes); }
inline void store(BFloat16* p, const Vec16f& v) { store_some(p, v, kLanes); }
inline void stream(BFloat16* p, const Vec16f& v) { store(p, v); }

#endif

}  // namespace cortado::kernels
