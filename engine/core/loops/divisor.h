#pragma once

// Division by an invariant, for functors that compute rows and columns: one multiplication and one shift where a
// device's division takes about forty instructions. With s the smallest number for which 2^s >= d, and m = floor(2^32
// (2^s - d) / d) + 1,
//   floor(n / d) = (floor(n m / 2^32) + n) >> s   for 0 <= n < 2^31, 1 <= d < 2^31 (Granlund and Montgomery, 1994).
// Larger numbers use ordinary division.

#include <cstdint>

#include "core/host_device.h"

namespace cortado {

class Divisor {
 public:
  /// Smaller values of d count as 1.
  CORTADO_HD explicit Divisor(int64_t d) : d_(d < 1 ? 1 : d) {
    if (d_ > kMax) return;
    while (int64_t(1) << shift_ < d_) ++shift_;
    factor_ = uint32_t((((uint64_t(1) << shift_) - uint64_t(d_)) << 32) / uint64_t(d_)) + 1;
  }

  CORTADO_HD int64_t value() const { return d_; }
  /// floor(n / d), n >= 0
  CORTADO_HD int64_t of(int64_t n) const {
    if (n > kMax || d_ > kMax) return n / d_;
    return int64_t((uint32_t(uint64_t(uint32_t(n)) * factor_ >> 32) + uint32_t(n)) >> shift_);
  }
  /// The remainder of n / d.
  CORTADO_HD int64_t rest(int64_t n) const { return n - of(n) * d_; }

 private:
  static constexpr int64_t kMax = INT32_MAX;
  int64_t d_;
  uint32_t factor_ = 0, shift_ = 0;
};

}  // namespace cortado
