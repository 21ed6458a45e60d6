#pragma once

// Vectorized normal draws for the CPU, bitwise equal to RandomStream::normal() with the C library's functions.

#include <cstdint>

namespace cortado {

constexpr int kNormalsAtOnce = 64;

/// values[i] = float(mean + deviation * n[first + i]) for i in [0, kNormalsAtOnce), where n[k] is the k-th value of
/// normal() of a RandomStream(key). `first` must be even.
void draw_normals(uint64_t key, uint64_t first, double mean, double deviation, float* values);

}  // namespace cortado
