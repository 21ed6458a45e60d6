#include "kernels/cpu/gemm_pieces.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "core/error.h"
#include "core/threads/threads.h"
#include "kernels/gemm.h"

namespace cortado::kernels {

namespace {

/// The minimum size of a piece: enough work for a thread, and large enough that packing is cheap.
constexpr double kPieceFlops = 1e6;
constexpr int64_t kPieceRows = 48, kPieceColumns = 64;

/// The result divided into a grid of pieces. It depends only on the shape, and so do the order of summation and the
/// result's bits.
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

/// The piece of rows [i, i_end) by columns [j, j_end) of the result.
GemmPiece piece_of(const GemmShape& s, const float* a, const float* b, float* c, float beta, float alpha, int64_t i,
                   int64_t i_end, int64_t j, int64_t j_end) {
  const int64_t lda = s.transpose_a ? s.m : s.k, ldb = s.transpose_b ? s.k : s.n;
  return {.transpose_a = s.transpose_a,
          .transpose_b = s.transpose_b,
          .m = i_end - i,
          .n = j_end - j,
          .k = s.k,
          .alpha = alpha,
          .a = a + (s.transpose_a ? i : i * lda),
          .lda = lda,
          .b = b + (s.transpose_b ? j * ldb : j),
          .ldb = ldb,
          .beta = beta,
          .c = c + i * s.n + j,
          .ldc = s.n};
}

bool fits_in_32_bits(const GemmShape& s) { return std::max({s.m, s.n, s.k}) <= std::numeric_limits<int32_t>::max(); }

}  // namespace

void gemm_cpu(Context& context, GemmLibrary library, const GemmShape& s, const float* a, const float* b, float* c,
              float beta, float alpha) {
  if (s.m == 0 || s.n == 0) return;
  if (s.k == 0) {
    std::transform(c, c + s.m * s.n, c, [beta](float v) { return beta == 0 ? 0 : beta * v; });
    return;
  }
  const auto multiply = library == GemmLibrary::kOpenBlas && fits_in_32_bits(s) ? multiply_openblas : multiply_onednn;
  const Grid grid(s);
  std::atomic<bool> failed = false;
  parallel_ranges(context, grid.rows * grid.columns, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t row = p / grid.columns, column = p % grid.columns;
      if (!multiply(piece_of(s, a, b, c, beta, alpha, s.m * row / grid.rows, s.m * (row + 1) / grid.rows,
                             s.n * column / grid.columns, s.n * (column + 1) / grid.columns)))
        failed = true;
    }
  });
  if (failed) throw_internal("a library failed to multiply matrices");
}

}  // namespace cortado::kernels
