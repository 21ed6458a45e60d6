#include "kernels/cpu/evict.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace cortado::kernels {

void evict(const void* data, size_t bytes) {
#ifdef __SSE2__
  constexpr size_t kLine = 64;
  const char* line = static_cast<const char*>(data);
  for (size_t i = 0; i < bytes; i += kLine) {
#ifdef __CLFLUSHOPT__
    _mm_clflushopt(const_cast<char*>(line + i));
#else
    _mm_clflush(line + i);
#endif
  }
  _mm_mfence();
#else
  (void)data;
  (void)bytes;
#endif
}

}  // namespace cortado::kernels
