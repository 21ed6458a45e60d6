#pragma once

// The product of two float matrices, accumulated in 32 bits.

#include <cstdint>
#include <string>

#include "core/context.h"
#include "core/tensor.h"

namespace cortado::kernels {

/// Row-major, dense. op(a) is m x k and op(b) is k x n; transposed operands are stored as k x m or n x k.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  DType a = DType::kF32, b = DType::kF32, c = DType::kF32;  ///< float types
};

/// The library for products of 32-bit floats on the CPU. oneDNN generates code for all x86-64 CPUs and is faster than
/// OpenBLAS at every level. On other architectures oneDNN has reference loops, and OpenBLAS has kernels (figures:
/// docs/cpu.md).
enum class GemmLibrary : uint8_t { kOneDnn, kOpenBlas };

/// c = op(a) op(b) + beta c, with c of m x n. c is not read if beta is 0. Extents may be zero; an empty sum is 0. The
/// order of summation depends only on the shape and the library. Runs on the context's device; other types than 32-bit
/// floats also run on the CPU.
void gemm(Context& context, const GemmShape& shape, const void* a, const void* b, void* c, float beta = 0,
          GemmLibrary library = GemmLibrary::kOneDnn);

/// c = alpha op(a) op(b) + beta c on the CPU, for 32-bit floats. With kOpenBlas, OpenBLAS must be usable.
void gemm_cpu(Context& context, GemmLibrary library, const GemmShape& shape, const float* a, const float* b, float* c,
              float beta, float alpha = 1);

/// Whether to use OpenBLAS in this context: oneDNN generates no code for this CPU, and OpenBLAS can be loaded. If not,
/// `why` has the reason.
bool suits_openblas(Context& context, std::string& why);
/// The version and the CPU of the kernels: "OpenBLAS 0.3.21 (Nehalem)"; "" if it cannot be loaded.
std::string openblas_version();

}  // namespace cortado::kernels
