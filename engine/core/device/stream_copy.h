#pragma once

// Stores that go past the caches. An ordinary store to memory that is in no cache reads it first, which for results
// that are written once and read much later is a third of the traffic.

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace cortado {

/// to[i] = from[i] for i in [0, n), past the caches where the processor can. Before another thread is told,
/// stream_end().
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
