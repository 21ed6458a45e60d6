#pragma once

// Many draws of a normal distribution at once, for the processor: as vectors, and each with the bits that
// RandomStream::normal() and the C library's functions give.

#include <cstdint>

namespace cortado {

constexpr int kNormalsAtOnce = 64;

/// values[i] = float(mean + deviation * n[first + i]) for i in [0, kNormalsAtOnce), where n[k] is what the k-th call of
/// normal() of a RandomStream(key) returns. `first` is even.
void draw_normals(uint64_t key, uint64_t first, double mean, double deviation, float* values);

}  // namespace cortado
