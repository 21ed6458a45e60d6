#pragma once

// Non-temporal stores, which bypass the caches. An ordinary store to uncached memory reads the line first. For results
// that are written once and read much later that is a third of the traffic.

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace cortado {

/// Copies n floats, with non-temporal stores if the processor has them. Call stream_end() before another thread reads
/// them.
inline void stream_copy(const float* from, float* to, int64_t n) {
#if defined(__SSE2__)
  for (; n > 0 && reinterpret_cast<uintptr_t>(to) % 64 != 0; --n) *to++ = *from++;
#if defined(__AVX512F__)
  for (; n >= 16; n -= 16, from += 16, to += 16) _mm512_stream_ps(to, _mm512_loadu_ps(from));
#endif
  for (; n >= 4; n -= 4, from += 4, to += 4) _mm_stream_ps(to, _mm_loadu_ps(from));
#endif
  std::memcpy(to, from, size_t(n) * sizeof(float));
}

inline void stream_end() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace cortado
