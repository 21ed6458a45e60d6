// GEMM by oneDNN's own code generator, a piece of the result at a time. Not by a BLAS: distributions' OpenBLAS mistakes
// new CPUs for old ones and is then four times slower, and its threads spin against ours.

#include <algorithm>
#include <atomic>

#include "core/error.h"
#include "core/threads.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/gemm.h"

namespace cortado::kernels {

namespace {

/// Of a piece: as many flops as are worth a thread, and enough of both sides that packing them costs little.
constexpr double kPieceFlops = 1e6;
constexpr int64_t kPieceRows = 48, kPieceColumns = 64;

/// The result cut into a grid of pieces, which depends on the shape alone: so do the order of sums and the bits.
struct Grid {
  int64_t rows = 1, columns = 1;

  explicit Grid(const GemmShape& s) {
    const auto flops = [&] { return 2.0 * double(s.m) * double(s.n) * double(s.k) / double(rows * columns); };
    while (flops() > 2 * kPieceFlops && rows * columns < 64) {
      const bool can_rows = s.m / rows >= 2 * kPieceRows, can_columns = s.n / columns >= 2 * kPieceColumns;
      if (!can_rows && !can_columns) break;
      (can_rows && (!can_columns || s.m / rows > s.n / columns) ? rows : columns) *= 2;
    }
  }
};

/// Rows [i, i_end) by columns [j, j_end) of the result, by the calling thread. Whether it worked.
bool piece(const GemmShape& s, const float* a, const float* b, float* c, float beta, float alpha, int64_t i,
           int64_t i_end, int64_t j, int64_t j_end) {
  const int64_t lda = s.transpose_a ? s.m : s.k, ldb = s.transpose_b ? s.k : s.n;
  const LibrariesAlone alone;
  return dnnl_sgemm(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', i_end - i, j_end - j, s.k, alpha,
                    a + (s.transpose_a ? i : i * lda), lda, b + (s.transpose_b ? j * ldb : j), ldb, beta,
                    c + i * s.n + j, s.n) == dnnl_success;
}

}  // namespace

void gemm_onednn(Context& context, const GemmShape& s, const float* a, const float* b, float* c, float beta,
                 float alpha) {
  if (s.m == 0 || s.n == 0) return;
  if (s.k == 0) {
    std::transform(c, c + s.m * s.n, c, [beta](float v) { return beta == 0 ? 0 : beta * v; });
    return;
  }
  const Grid grid(s);
  std::atomic<bool> failed = false;
  parallel_ranges(context, grid.rows * grid.columns, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t row = p / grid.columns, column = p % grid.columns;
      if (!piece(s, a, b, c, beta, alpha, s.m * row / grid.rows, s.m * (row + 1) / grid.rows,
                 s.n * column / grid.columns, s.n * (column + 1) / grid.columns))
        failed = true;
    }
  });
  if (failed) throw_internal("oneDNN refuses a matrix product");
}

}  // namespace cortado::kernels
