#pragma once

// The product of two matrices of floats, summed in 32 bits.

#include <cstdint>
#include <string>

#include "core/context.h"
#include "core/tensor.h"

namespace cortado::kernels {

/// Row-major, dense. op(a) is m x k and op(b) is k x n; a transposed operand is stored as k x m, or n x k.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  DType a = DType::kF32, b = DType::kF32, c = DType::kF32;  ///< float types
};

/// What multiplies matrices of 32-bit floats on the CPU. oneDNN generates code for every x86-64 CPU, which is faster
/// than OpenBLAS at every level; elsewhere it has plain loops, and OpenBLAS has kernels (figures: docs/cpu.md).
enum class GemmLibrary : uint8_t { kOneDnn, kOpenBlas };

/// c = op(a) op(b) + beta c, with c of m x n. With beta 0, c is not read. Extents may be zero: an empty sum is 0.
/// The order of the sums depends on the shape and the library alone. Runs where the context does; types other than
/// 32-bit floats run on the CPU, too.
void gemm(Context& context, const GemmShape& shape, const void* a, const void* b, void* c, float beta = 0,
          GemmLibrary library = GemmLibrary::kOneDnn);

/// c = alpha op(a) op(b) + beta c on the CPU, for 32-bit floats. OpenBLAS has to be usable.
void gemm_cpu(Context& context, GemmLibrary library, const GemmShape& shape, const float* a, const float* b, float* c,
              float beta, float alpha = 1);

/// Whether products by OpenBLAS suit this context: oneDNN generates no code for this CPU, and OpenBLAS can be opened.
/// Else `why` not.
bool suits_openblas(Context& context, std::string& why);
/// "OpenBLAS 0.3.21 (Nehalem)": the version, and the CPU that its kernels are for; "" where it cannot be opened.
std::string openblas_version();

}  // namespace cortado::kernels
