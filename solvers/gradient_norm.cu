#include "core/loops/reduce_pieces.h"
#include "solvers/update_rule.h"

namespace cortado {

namespace {

struct Square {
  const float* x;
  int64_t count;
  CORTADO_HD double operator()(int64_t piece, int64_t i) const {
    const int64_t at = piece * kPieceSize + i;
    return at < count ? double(x[at]) * x[at] : 0.0;
  }
};

}  // namespace

int64_t sum_of_squares_scratch(int64_t count) { return pieces_of(count); }

double sum_of_squares(Context& context, const float* x, int64_t count, float* scratch) {
  const int64_t pieces = sum_of_squares_scratch(count);
  reduce_rows(context, pieces, count < kPieceSize ? count : kPieceSize, Square{x, count}, scratch);
  double sum = 0;
  for (int64_t i = 0; i < pieces; ++i) sum += scratch[i];
  return sum;
}

}  // namespace cortado
