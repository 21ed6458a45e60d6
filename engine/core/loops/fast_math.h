#pragma once

// The exponential and what is made of it, as straight lines of arithmetic, so that compilers turn a loop over them into
// vector instructions, which they cannot do with the C library's. On a device they are its own. In float, with relative
// errors of a few units of the last place (the tests measure them); arguments that are not a number stay so.

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/host_device.h"

namespace cortado {

/// e^x. Above 88.37 infinity, a little early; below -87.33 the smallest normal number, in place of yet smaller ones.
/// e^x = 2^n e^r with n the integer nearest to x / ln 2; e^r by a polynomial, whose coefficients are a minimax fit.
CORTADO_HD inline float fast_exp(float x) {
#ifdef __CUDA_ARCH__
  return expf(x);
#else
  constexpr float kRound = 12582912;  // 1.5 * 2^23: what is added to it loses its fraction
  const float bounded = x > 89.0f ? 89.0f : x < -87.33654f ? -87.33654f : x;
  const float shifted = bounded * 1.44269504f + kRound, n = shifted - kRound;
  const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts: n times the first is exact
  const float p = (((0.00139504776f * r + 0.00836888235f) * r + 0.041666206f) * r + 0.166665182f) * r + 0.5f;
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) + 127;
  return std::bit_cast<float>(exponent << 23) * (p * r * r + r + 1);
#endif
}

/// 1 / (1 + e^-x).
CORTADO_HD inline float fast_sigmoid(float x) { return 1 / (1 + fast_exp(-x)); }

/// tanh x: near 0 by a polynomial (a minimax fit), so that the relative error stays small there, else by the
/// exponential.
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
