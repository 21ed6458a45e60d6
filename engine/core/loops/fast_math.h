#pragma once

// exp, sigmoid and tanh as branch-free arithmetic, which compilers vectorize, unlike calls of the C library. Devices
// use their own functions. Single precision, with errors of a few ulp (tests measure them); NaN yields NaN.

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/host_device.h"

namespace cortado {

/// e^x. Overflows to infinity above 88.37, slightly early. Below -87.33 it returns the smallest normal number. e^x =
/// 2^n e^r with n = round(x / ln 2) and a minimax polynomial for e^r.
CORTADO_HD inline float fast_exp(float x) {
#ifdef __CUDA_ARCH__
  return expf(x);
#else
  constexpr float kRound = 12582912;  // 1.5 * 2^23: adding it rounds to an integer
  const float bounded = x > 89.0f ? 89.0f : x < -87.33654f ? -87.33654f : x;
  const float shifted = bounded * 1.44269504f + kRound, n = shifted - kRound;
  // ln 2 in two parts, so that n times the first is exact
  const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  const float p = (((0.00139504776f * r + 0.00836888235f) * r + 0.041666206f) * r + 0.166665182f) * r + 0.5f;
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) + 127;
  return std::bit_cast<float>(exponent << 23) * (p * r * r + r + 1);
#endif
}

/// 1 / (1 + e^-x).
CORTADO_HD inline float fast_sigmoid(float x) { return 1 / (1 + fast_exp(-x)); }

/// tanh x: a minimax polynomial near 0, which keeps the relative error small, else by the exponential.
CORTADO_HD inline float fast_tanh(float x) {
#ifdef __CUDA_ARCH__
  return tanhf(x);
#else
  const float size = x < 0 ? -x : x, z = x * x;
  const float q = (((-0.00590585684f * z + 0.0208053738f) * z - 0.0537866801f) * z + 0.133319587f) * z - 0.333332986f;
  const float near = x + x * z * q, far = 1 - 2 / (fast_exp(2 * size) + 1);
  return size < 0.6f ? near : x < 0 ? -far : far;
#endif
}

}  // namespace cortado
