#pragma once

// Sums over tiles. A tile is a block of lanes x columns threads on a CUDA device; adjacent threads are in adjacent
// columns. The lanes of a column are summed in shared memory. A functor has
//   using Sum = ...;   // a struct of numbers with `CORTADO_HD Sum& operator+=(const Sum&)`; Sum{} is zero
//   CORTADO_HD Sum operator()(int64_t tile, int column, int lane) const;             // the partial sum of one lane
//   CORTADO_HD void finish(int64_t tile, int column, const Sum& sum) const;          // the column's sum; by one thread
// The order of additions depends only on the number of columns, so results are equal on all devices. For .cu files
// only, like core/loops/for_each.h.

#include "core/loops/for_each.h"

namespace cortado {

constexpr int kTileThreads = 256;  ///< a multiprocessor should hold at least 512 of them

#ifdef __CUDACC__
template <typename Functor>
__global__ void __launch_bounds__(kTileThreads, 2) reduce_tiles_kernel(int columns, Functor functor) {
  using Sum = typename Functor::Sum;
  __shared__ Sum parts[kTileThreads];
  const int thread = int(threadIdx.x), column = thread % columns, lane = thread / columns;
  parts[thread] = functor(blockIdx.x, column, lane);
  __syncthreads();
  for (int half = kTileThreads / columns / 2; half > 0; half /= 2) {
    if (lane < half) parts[thread] += parts[thread + half * columns];
    __syncthreads();
  }
  if (lane == 0) functor.finish(blockIdx.x, column, parts[column]);
}
#endif

/// Runs the functor on `tiles` tiles of kTileThreads / columns lanes; `columns` is a power of two up to kTileThreads.
template <typename Functor>
void reduce_tiles(Context& context, int64_t tiles, int columns, const Functor& functor) {
  if (tiles <= 0) return;
#ifdef __CUDACC__
  if (context.device.is_cuda()) {
    reduce_tiles_kernel<<<unsigned(tiles), kTileThreads, 0, stream_of(context)>>>(columns, functor);
    return check_launch("reduce_tiles");
  }
#endif
  const auto work = [&context, tiles, columns, functor] {
    parallel_ranges(context, tiles * columns, 1, [&](int64_t begin, int64_t end) {
      typename Functor::Sum parts[kTileThreads];
      for (int64_t k = begin; k < end; ++k) {
        const int column = int(k % columns), lanes = kTileThreads / columns;
        for (int lane = 0; lane < lanes; ++lane) parts[lane] = functor(k / columns, column, lane);
        for (int half = lanes / 2; half > 0; half /= 2)
          for (int lane = 0; lane < half; ++lane) parts[lane] += parts[lane + half];
        functor.finish(k / columns, column, parts[0]);
      }
    });
  };
  do_or_record(context, work, traffic_of(functor, tiles));
}

}  // namespace cortado
