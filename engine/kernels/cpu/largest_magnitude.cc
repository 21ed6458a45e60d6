// Without the sign, the bits of floats as integers order by magnitude, with infinity above all numbers and NaN above
// infinity. An integer maximum is therefore fast and does not lose NaN.
#include "kernels/cpu/largest_magnitude.h"

#include <atomic>
#include <bit>

#include "core/threads/threads.h"
#include "kernels/cpu/floats.h"

namespace cortado::kernels {
namespace {

/// Below this number of values one thread is faster than several.
constexpr int64_t kAtLeast = 1 << 16;

void raise(std::atomic<uint32_t>& to, uint32_t value) {
  uint32_t seen = to.load(std::memory_order_relaxed);
  while (seen < value && !to.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

/// Bits: the unsigned integer type of a value's size.
template <typename Bits>
uint32_t largest_bits(const void* values, int64_t begin, int64_t end) {
  using Aliasing __attribute__((may_alias)) = Bits;
  constexpr Bits kMagnitude = Bits(~Bits(0)) >> 1;
  const Aliasing* bits = static_cast<const Aliasing*>(values);
  Bits largest = 0;
  for (int64_t i = begin; i < end; ++i) {
    const Bits magnitude = Bits(bits[i] & kMagnitude);
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}

}  // namespace

float largest_magnitude(Context& context, const void* values, DType dtype, int64_t n) {
  const bool halves = dtype == DType::kBF16;
  std::atomic<uint32_t> largest = 0;
  parallel_ranges(context, n, kAtLeast, [&](int64_t begin, int64_t end) {
    raise(largest,
          halves ? largest_bits<uint16_t>(values, begin, end) << 16 : largest_bits<uint32_t>(values, begin, end));
  });
  return std::bit_cast<float>(largest.load());
}

}  // namespace cortado::kernels
