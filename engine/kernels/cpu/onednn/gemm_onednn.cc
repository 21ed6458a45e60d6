// Products by oneDNN's JIT GEMM.

#include "kernels/cpu/gemm_pieces.h"
#include "kernels/cpu/onednn/onednn.h"

namespace cortado::kernels {

bool multiply_onednn(const GemmPiece& p) {
  const onednn::OneThread alone;
  return dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b,
                    p.ldb, p.beta, p.c, p.ldc) == dnnl_success;
}

}  // namespace cortado::kernels
