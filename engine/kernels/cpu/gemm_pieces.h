#pragma once

// A matrix product divided into pieces, each computed by one thread of ours. The threads of libraries would spin
// against ours.

#include <cstdint>

namespace cortado::kernels {

/// c = alpha op(a) op(b) + beta c, row-major, as in GemmShape; `lda` etc. are row strides.
struct GemmPiece {
  bool transpose_a, transpose_b;
  int64_t m, n, k;
  float alpha;
  const float* a;
  int64_t lda;
  const float* b;
  int64_t ldb;
  float beta;
  float* c;
  int64_t ldc;
};

/// Runs in the calling thread. Never throws; returns whether it succeeded.
bool multiply_onednn(const GemmPiece& piece);
/// Like multiply_onednn(). OpenBLAS must be loaded, and extents must fit in 32 bits.
bool multiply_openblas(const GemmPiece& piece);

}  // namespace cortado::kernels
