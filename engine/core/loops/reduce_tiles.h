#pragma once

// Sums that neighbouring threads make together, each of them a part: a tile is one block of threads on a CUDA device,
// lanes x columns of them, neighbouring threads in neighbouring columns; the lanes of a column are added up in its
// shared memory. A functor has
//   using Sum = ...;   // a struct of plain numbers with `CORTADO_HD Sum& operator+=(const Sum&)`; Sum{} is zero
//   CORTADO_HD Sum operator()(int64_t tile, int column, int lane) const;             // of one lane
//   CORTADO_HD void finish(int64_t tile, int column, const Sum& sum) const;          // of the column, by one thread
// The order of additions depends on the number of columns alone, so results are the same on every device. For .cu
// files, as core/loops/for_each.h is.

#include "core/loops/for_each.h"

namespace cortado {

constexpr int kTileThreads = 256;  ///< of which a multiprocessor is to hold 512 at least

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

/// Each of `tiles` tiles, of kTileThreads / columns lanes; `columns` is a power of two up to kTileThreads.
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
