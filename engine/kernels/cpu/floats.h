#pragma once

// Checks of float types. Interfaces accept any float type; the candidates in this folder compute in 32-bit floats, and
// some read and write bfloat16.

#include <string>

#include "core/half.h"
#include "core/tensor.h"

namespace cortado::kernels {

inline const float* floats(const void* operand) { return static_cast<const float*>(operand); }
inline float* floats(void* operand) { return static_cast<float*>(operand); }

/// Whether a candidate for 32-bit floats accepts `dtype`; if not, sets `why`.
inline bool takes(DType dtype, std::string& why) {
  if (dtype == DType::kF32) return true;
  why = "32-bit floats only";
  return false;
}

/// Whether a candidate for 32-bit floats and bfloat16 accepts `dtype`; if not, sets `why`.
inline bool takes_halves(DType dtype, std::string& why) {
  if (dtype == DType::kBF16) return true;
  return takes(dtype, why);
}

/// Whether a candidate for bfloat16 only accepts `dtype`; if not, sets `why`.
inline bool takes_bfloat16(DType dtype, std::string& why) {
  if (dtype == DType::kBF16) return true;
  why = "bfloat16 values only";
  return false;
}

/// Calls function(T()) with the type T of `dtype`, which must pass takes_halves().
template <typename Function>
decltype(auto) with_half_type(DType dtype, const Function& function) {
  return dtype == DType::kBF16 ? function(BFloat16()) : function(float());
}

}  // namespace cortado::kernels
