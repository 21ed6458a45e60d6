#pragma once

// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011).
// A draw is a pure function of a key and a counter. It does not depend on threads, devices or earlier draws.

#include <array>
#include <cstdint>

#include "core/host_device.h"

namespace cortado {

struct Philox {
  uint32_t key0, key1;

  CORTADO_HD explicit Philox(uint64_t key) : key0(uint32_t(key)), key1(uint32_t(key >> 32)) {}

  struct Words {
    uint32_t v[4];
  };

  /// Four independent 32-bit words for the 128-bit counter (high, low).
  CORTADO_HD Words operator()(uint64_t high, uint64_t low) const {
    uint32_t c0 = uint32_t(low), c1 = uint32_t(low >> 32), c2 = uint32_t(high), c3 = uint32_t(high >> 32);
    uint32_t k0 = key0, k1 = key1;
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t(0xD2511F53u) * c0, b = uint64_t(0xCD9E8D57u) * c2;
      const uint32_t n0 = uint32_t(b >> 32) ^ c1 ^ k0, n2 = uint32_t(a >> 32) ^ c3 ^ k1;
      c1 = uint32_t(b);
      c3 = uint32_t(a);
      c0 = n0;
      c2 = n2;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return Words{{c0, c1, c2, c3}};
  }
};

/// A float in [0, 1) from the upper 24 bits of a word.
CORTADO_HD inline float unit_float(uint32_t word) { return float(word >> 8) * (1.0f / 16777216.0f); }

/// Derives a stream's key from another key (splitmix64 finalizer).
CORTADO_HD inline uint64_t mix_key(uint64_t a, uint64_t b) {
  uint64_t z = a + 0x9E3779B97F4A7C15ull * (b + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/// A sequential stream of draws from one key, for host code.
class RandomStream {
 public:
  explicit RandomStream(uint64_t key) : philox_(key) {}
  uint32_t next_word();
  float uniform() { return unit_float(next_word()); }  ///< [0, 1)
  double normal();                                     ///< mean 0, standard deviation 1 (Box-Muller)
  uint64_t below(uint64_t n);                          ///< uniform in [0, n), n > 0, unbiased

 private:
  Philox philox_;
  uint64_t counter_ = 0;
  Philox::Words words_{};
  int left_ = 0;
};

}  // namespace cortado
