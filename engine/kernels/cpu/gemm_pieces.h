#pragma once

// A matrix product cut into pieces, each multiplied by one thread of a library. The libraries' own threads would spin
// against ours.

#include <cstdint>

namespace cortado::kernels {

/// c = alpha op(a) op(b) + beta c, row-major, as in GemmShape; `lda` and so on are values from a row to the next one.
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

/// By the calling thread. Throws nothing; returns whether it worked.
bool multiply_onednn(const GemmPiece& piece);
/// As above. OpenBLAS has been opened, and extents fit in 32 bits.
bool multiply_openblas(const GemmPiece& piece);

}  // namespace cortado::kernels
