#pragma once

// Faces take values of any float type; the candidates of this folder compute with 32-bit ones.

#include <string>

#include "core/tensor.h"

namespace cortado::kernels {

inline const float* floats(const void* operand) { return static_cast<const float*>(operand); }
inline float* floats(void* operand) { return static_cast<float*>(operand); }

/// Whether a candidate of this folder takes operands of `dtype`; else `why` not.
inline bool takes(DType dtype, std::string& why) {
  if (dtype == DType::kF32) return true;
  why = "32-bit floats only";
  return false;
}

}  // namespace cortado::kernels
