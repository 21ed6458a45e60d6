#pragma once

// Faces take values of any float type; the candidates of this folder compute with 32-bit ones, and some read and write
// bfloat16.

#include <string>

#include "core/half.h"
#include "core/tensor.h"

namespace cortado::kernels {

inline const float* floats(const void* operand) { return static_cast<const float*>(operand); }
inline float* floats(void* operand) { return static_cast<float*>(operand); }

/// Whether a candidate for 32-bit floats takes operands of `dtype`; else `why` not.
inline bool takes(DType dtype, std::string& why) {
  if (dtype == DType::kF32) return true;
  why = "32-bit floats only";
  return false;
}

/// Whether a candidate for them and bfloat16 does.
inline bool takes_halves(DType dtype, std::string& why) {
  if (dtype == DType::kBF16) return true;
  return takes(dtype, why);
}

/// Whether a candidate for bfloat16 alone does.
inline bool takes_bfloat16(DType dtype, std::string& why) {
  if (dtype == DType::kBF16) return true;
  why = "bfloat16 values only";
  return false;
}

/// function(T()) with the T in which values of `dtype` are stored, one that takes_halves().
template <typename Function>
decltype(auto) with_half_type(DType dtype, const Function& function) {
  return dtype == DType::kBF16 ? function(BFloat16()) : function(float());
}

}  // namespace cortado::kernels
