#include "core/rng.h"

#include <cmath>

namespace cortado {

uint32_t RandomStream::next_word() {
  if (left_ == 0) {
    words_ = philox_(0, counter_++);
    left_ = 4;
  }
  return words_.v[4 - left_--];
}

double RandomStream::normal() {
  const double u = (double(next_word()) + 1.0) / 4294967296.0;  // (0, 1]: the logarithm is finite
  const double v = double(next_word()) / 4294967296.0;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * M_PI * v);
}

uint64_t RandomStream::below(uint64_t n) {
  const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
  for (;;) {
    const uint64_t high = next_word();
    const uint64_t value = high << 32 | next_word();
    if (value < limit) return value % n;
  }
}

}  // namespace cortado
