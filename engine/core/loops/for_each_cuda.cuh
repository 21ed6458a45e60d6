#pragma once

// The CUDA implementation of core/loops/for_each.h: grid-stride loops over the same functors.

#include <cuda_runtime.h>

#include "core/context.h"
#include "core/device/cuda_error.h"
#include "core/loops/by_packs.h"
#include "core/loops/divisor.h"

namespace cortado {

inline cudaStream_t stream_of(const Context& context) { return static_cast<cudaStream_t>(context.stream()); }

constexpr int kThreads = 256;

inline unsigned grid_for(int64_t n) {
  const int64_t blocks = (n + kThreads - 1) / kThreads;
  return unsigned(blocks < 65535 ? (blocks > 0 ? blocks : 1) : 65535);
}

__device__ inline int64_t first_of_grid() { return blockIdx.x * int64_t(kThreads) + threadIdx.x; }
__device__ inline int64_t step_of_grid() { return gridDim.x * int64_t(kThreads); }

template <typename Functor>
__global__ void for_each_kernel(int64_t n, Functor functor) {
  for (int64_t i = first_of_grid(); i < n; i += step_of_grid()) functor(i);
}

/// The last thread processes the incomplete pack.
template <typename Functor>
__global__ void for_each_pack_kernel(int64_t n, Functor functor) {
  constexpr int64_t kWidth = Functor::Arrays::kWidth;
  for (int64_t i = first_of_grid() * kWidth; i < n; i += step_of_grid() * kWidth)
    if (i + kWidth <= n)
      run_pack(functor, i);
    else
      for (int64_t k = i; k < n; ++k) functor(k);
}

template <typename Functor>
void for_each_on_cuda(Context& context, int64_t n, const Functor& functor) {
  if (n <= 0) return;
  if constexpr (Vectorizable<Functor>)
    if (fits_packs(functor)) {
      const unsigned grid = grid_for((n + Functor::Arrays::kWidth - 1) / Functor::Arrays::kWidth);
      for_each_pack_kernel<<<grid, kThreads, 0, stream_of(context)>>>(n, functor);
      return check_launch("for_each");
    }
  for_each_kernel<<<grid_for(n), kThreads, 0, stream_of(context)>>>(n, functor);
  check_launch("for_each");
}

/// Element and channel indices of a tensor. layout: 0 plain, 1 channels-last, 2 blocks of 16.
struct ChannelsOfGrid {
  int64_t n;
  Divisor channels, inner;
  int layout;

  /// The channel of the i-th element.
  __device__ int64_t channel(int64_t i) const { return channels.rest(layout == 1 ? i : inner.of(i)); }
  __device__ int64_t in_blocks(int64_t i) const {
    const int64_t row = inner.of(i), image = channels.of(row), c = row - image * channels.value();
    const int64_t blocks = (channels.value() + 15) / 16;
    return ((image * blocks + c / 16) * inner.value() + inner.rest(i)) * 16 + c % 16;
  }
};

template <typename Functor>
__global__ void for_each_channel_kernel(ChannelsOfGrid at, Functor functor) {
  for (int64_t i = first_of_grid(); i < at.n; i += step_of_grid())
    functor(at.layout == 2 ? at.in_blocks(i) : i, at.channel(i));
}

template <typename Functor>
__global__ void for_each_channel_pack_kernel(ChannelsOfGrid at, Functor functor) {
  constexpr int64_t kWidth = Functor::Arrays::kWidth;
  for (int64_t i = first_of_grid() * kWidth; i < at.n; i += step_of_grid() * kWidth)
    run_pack(functor, i, at.channel(i), at.layout == 1 ? 1 : 0);
}

template <typename View, typename Functor>
void for_each_channel_on_cuda(Context& context, const View& view, const Functor& functor, bool by_packs) {
  const ChannelsOfGrid at{view.outer * view.channels * view.inner, Divisor(view.channels), Divisor(view.inner),
                          int(view.layout)};
  if (at.n <= 0) return;
  if constexpr (Vectorizable<Functor>)
    if (by_packs) {
      const unsigned grid = grid_for(at.n / Functor::Arrays::kWidth);
      for_each_channel_pack_kernel<<<grid, kThreads, 0, stream_of(context)>>>(at, functor);
      return check_launch("for_each_channel");
    }
  for_each_channel_kernel<<<grid_for(at.n), kThreads, 0, stream_of(context)>>>(at, functor);
  check_launch("for_each_channel");
}

template <typename Piece, typename Functor>
__global__ void for_each_piece_kernel(const Piece* pieces, Functor functor) {
  const Piece piece = pieces[blockIdx.x];
  const auto local = functor(piece.part);
  for (int64_t i = piece.begin + threadIdx.x; i < piece.end; i += kThreads) local(i);
}

template <typename Piece, typename Functor>
void for_each_piece_on_cuda(Context& context, const Piece* pieces, int64_t n, const Functor& functor) {
  if (n <= 0) return;
  for_each_piece_kernel<<<unsigned(n), kThreads, 0, stream_of(context)>>>(pieces, functor);
  check_launch("for_each_piece");
}

template <typename Functor>
__global__ void reduce_rows_kernel(int64_t n, Functor functor, float* out, bool add) {
  __shared__ double parts[kThreads];
  const int64_t k = blockIdx.x;
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += functor(k, i);
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[k] = float(parts[0] + (add ? double(out[k]) : 0.0));
}

template <typename Functor>
void reduce_rows_on_cuda(Context& context, int64_t rows, int64_t n, const Functor& functor, float* out, bool add) {
  if (rows <= 0) return;
  reduce_rows_kernel<<<unsigned(rows), kThreads, 0, stream_of(context)>>>(n, functor, out, add);
  check_launch("reduce_rows");
}

}  // namespace cortado
