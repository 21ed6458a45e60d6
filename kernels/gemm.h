#pragma once

// The product of two matrices of 32-bit floats.

#include <cstdint>

#include "core/context.h"

namespace cortado::kernels {

/// Row-major, dense. op(a) is m x k and op(b) is k x n; a transposed operand is stored as k x m, or n x k.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
};

/// c = op(a) op(b) + beta c, with c of m x n. With beta 0, c is not read. Extents may be zero: an empty sum is 0.
/// The order of the sums depends on the shape and on the number of threads alone.
void gemm(Context& context, const GemmShape& shape, const float* a, const float* b, float* c, float beta = 0);

}  // namespace cortado::kernels
