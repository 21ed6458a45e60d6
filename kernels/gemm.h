#pragma once

// The product of two matrices of floats, summed in 32 bits.

#include <cstdint>

#include "core/context.h"
#include "core/tensor.h"

namespace cortado::kernels {

/// Row-major, dense. op(a) is m x k and op(b) is k x n; a transposed operand is stored as k x m, or n x k.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  DType a = DType::kF32, b = DType::kF32, c = DType::kF32;  ///< float types
};

/// c = op(a) op(b) + beta c, with c of m x n. With beta 0, c is not read. Extents may be zero: an empty sum is 0.
/// The order of the sums depends on the shape and, on the CPU, on the number of threads alone. Runs where the context
/// does, and types other than 32-bit floats on the CPU, too.
void gemm(Context& context, const GemmShape& shape, const void* a, const void* b, void* c, float beta = 0);

/// alpha op(a) op(b) + beta c on the CPU, for 32-bit floats.
void gemm_onednn(Context& context, const GemmShape& shape, const float* a, const float* b, float* c, float beta,
                 float alpha = 1);

}  // namespace cortado::kernels
