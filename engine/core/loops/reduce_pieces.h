#pragma once

// Sums over pieces of arrays, of several quantities in one pass. `Sum` is a struct of numbers with `CORTADO_HD Sum&
// operator+=(const Sum&)`; Sum{} is zero.

#include "core/loops/for_each.h"

namespace cortado {

/// The default number of elements per piece.
constexpr int64_t kPieceSize = 16384;

inline int64_t pieces_of(int64_t count) { return (count + kPieceSize - 1) / kPieceSize; }

/// The source of the pieces: a list in device memory, or one array divided into equal pieces.
struct ListedPieces {
  const Piece* pieces;
  CORTADO_HD Piece operator()(int64_t k) const { return pieces[k]; }
};
struct PiecesOfOne {
  int64_t count;
  CORTADO_HD Piece operator()(int64_t k) const {
    const int64_t begin = k * kPieceSize, end = begin + kPieceSize;
    return {0, begin, end < count ? end : count};
  }
};

#ifdef __CUDACC__
template <typename Sum, typename Pieces, typename Functor>
__global__ void reduce_pieces_kernel(Pieces pieces, Functor functor, Sum* out) {
  __shared__ Sum parts[kThreads];
  const Piece piece = pieces(blockIdx.x);
  Sum sum{};
  const auto local = functor(piece.part);
  for (int64_t i = piece.begin + threadIdx.x; i < piece.end; i += kThreads) sum += local(i);
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = parts[0];
}
#endif

/// out[k] = the sum of functor(part)(i) over the elements of piece k, for k in [0, n). The order is fixed, so the
/// result does not depend on the number of threads. functor(part)(i), as in for_each_piece(), runs once
/// per element and may also write element i.
template <typename Sum, typename Pieces, typename Functor>
void reduce_pieces(Context& context, const Pieces& pieces, int64_t n, const Functor& functor, Sum* out) {
#ifdef __CUDACC__
  if (context.device.is_cuda()) {
    if (n <= 0) return;
    reduce_pieces_kernel<<<unsigned(n), kThreads, 0, stream_of(context)>>>(pieces, functor, out);
    return check_launch("reduce_pieces");
  }
#endif
  if (n <= 0) return;
  const auto work = [&context, pieces, n, functor, out] {
    parallel_ranges(context, n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const Piece piece = pieces(k);
        const auto local = functor(piece.part);
        Sum lanes[8] = {};
        int64_t i = piece.begin;
        for (; i + 8 <= piece.end; i += 8)
          for (int lane = 0; lane < 8; ++lane) lanes[lane] += local(i + lane);
        for (; i < piece.end; ++i) lanes[0] += local(i);
        for (int lane = 1; lane < 8; ++lane) lanes[0] += lanes[lane];
        out[k] = lanes[0];
      }
    });
  };
  do_or_record(context, work, traffic_of(functor, n));
}

}  // namespace cortado
