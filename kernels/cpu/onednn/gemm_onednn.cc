// GEMM by oneDNN's own code generator. Not by a BLAS: distributions' OpenBLAS mistakes new CPUs for old ones and is
// then four times slower, and its threads spin against OpenMP's.

#include <algorithm>

#include "core/error.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/gemm.h"

namespace cortado::kernels {

void gemm_onednn(Context& context, const GemmShape& s, const float* a, const float* b, float* c, float beta) {
  if (s.m == 0 || s.n == 0) return;
  if (s.k == 0) {
    std::transform(c, c + s.m * s.n, c, [beta](float v) { return beta == 0 ? 0 : beta * v; });
    return;
  }
  onednn::library(context);
  const int64_t lda = s.transpose_a ? s.m : s.k, ldb = s.transpose_b ? s.k : s.n;
  const auto status = dnnl_sgemm(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', s.m, s.n, s.k, 1.0f, a, lda, b,
                                 ldb, beta, c, s.n);
  if (status != dnnl_success) throw_internal("oneDNN refuses a matrix product");
}

}  // namespace cortado::kernels
