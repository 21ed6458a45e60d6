#pragma once

// The 16-bit floating-point types, for storage only: they convert to and from float (to nearest, ties to even) and have
// no arithmetic. binary16 has 1 + 5 + 10 bits, up to 65504; bfloat16 is the upper half of a float.

#include <bit>
#include <cstdint>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include "core/error.h"
#include "core/host_device.h"
#include "core/tensor.h"

namespace cortado {

/// The bits of the binary16 nearest to `value`. 65520 and above become infinity; NaN stays NaN; subnormals are kept.
CORTADO_HD inline uint16_t half_bits(float value) {
#ifdef __CUDA_ARCH__
  return __half_as_ushort(__float2half_rn(value));
#else
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7FFFFFFFu;
  if (rest > 0x7F800000u) return uint16_t(sign | 0x7E00u | (rest >> 13 & 0x1FFu));
  if (rest >= 0x477FF000u) return uint16_t(sign | 0x7C00u);
  if (rest < 0x38800000u) {  // below 2^-14: adding 2^-1 aligns the last bit with 2^-24 and rounds
    const float shifted = std::bit_cast<float>(rest) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000u));
  }
  const uint32_t odd = rest >> 13 & 1u;
  return uint16_t(sign | ((rest - 0x38000000u + 0xFFFu + odd) >> 13));
#endif
}

CORTADO_HD inline float half_value(uint16_t bits) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(bits));
#else
  const uint32_t sign = uint32_t(bits & 0x8000u) << 16, rest = bits & 0x7FFFu;
  if (rest >= 0x7C00u) return std::bit_cast<float>(sign | 0x7F800000u | (rest & 0x3FFu) << 13);
  if (rest < 0x400u) {  // a multiple of 2^-24
    const float magnitude = float(rest) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000u));
#endif
}

struct Half {
  uint16_t bits = 0;
  Half() = default;
  CORTADO_HD Half(float value) : bits(half_bits(value)) {}
  CORTADO_HD operator float() const { return half_value(bits); }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  CORTADO_HD BFloat16(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
    const uint32_t all = std::bit_cast<uint32_t>(value);
    const bool nan = (all & 0x7FFFFFFFu) > 0x7F800000u;
    bits = nan ? uint16_t(all >> 16 | 0x40u) : uint16_t((all + 0x7FFFu + (all >> 16 & 1u)) >> 16);
#endif
  }
  CORTADO_HD operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

/// Calls function(T()) with T the type of `dtype`: float, Half or BFloat16.
template <typename Function>
decltype(auto) with_float_type(DType dtype, const Function& function) {
  switch (dtype) {
    case DType::kF32:
      return function(float());
    case DType::kF16:
      return function(Half());
    case DType::kBF16:
      return function(BFloat16());
    default:
      throw_internal("values of type " + name_of(dtype) + " where a floating-point type is required");
  }
}

}  // namespace cortado
