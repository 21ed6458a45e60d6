#pragma once

// The CUDA side of core/for_each.h: the same functors, a grid-stride loop each.

#include <cuda_runtime.h>

#include "core/context.h"
#include "core/cuda_error.h"

namespace cortado {

template <typename Functor>
__global__ void for_each_kernel(int64_t n, Functor functor) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < n; i += int64_t(gridDim.x) * blockDim.x) functor(i);
}

inline unsigned grid_for(int64_t n) {
  const int64_t blocks = (n + 255) / 256;
  return unsigned(blocks < 65535 ? (blocks > 0 ? blocks : 1) : 65535);
}

template <typename Functor>
void for_each_on_cuda(Context& context, int64_t n, const Functor& functor) {
  if (n <= 0) return;
  for_each_kernel<<<grid_for(n), 256, 0, static_cast<cudaStream_t>(context.stream)>>>(n, functor);
  check_launch("for_each");
}

template <typename Functor>
__global__ void for_each_channel_kernel(int64_t outer, int64_t channels, int64_t inner, int layout, Functor functor) {
  const int64_t n = outer * channels * inner;
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < n; i += int64_t(gridDim.x) * blockDim.x) {
    if (layout == 1) {  // channels-last
      functor(i, i % channels);
    } else if (layout == 2) {  // blocks of 16
      const int64_t c = i / inner % channels, o = i / (inner * channels), s = i % inner, blocks = (channels + 15) / 16;
      functor(((o * blocks + c / 16) * inner + s) * 16 + c % 16, c);
    } else {
      functor(i, i / inner % channels);
    }
  }
}

template <typename View, typename Functor>
void for_each_channel_on_cuda(Context& context, const View& view, const Functor& functor) {
  const int layout = int(view.layout);
  const int64_t n = view.outer * view.channels * view.inner;
  if (n <= 0) return;
  for_each_channel_kernel<<<grid_for(n), 256, 0, static_cast<cudaStream_t>(context.stream)>>>(
      view.outer, view.channels, view.inner, layout, functor);
  check_launch("for_each_channel");
}

template <typename Piece, typename Functor>
__global__ void for_each_piece_kernel(const Piece* pieces, Functor functor) {
  const Piece piece = pieces[blockIdx.x];
  for (int64_t i = piece.begin + threadIdx.x; i < piece.end; i += blockDim.x) functor(piece.part, i);
}

template <typename Piece, typename Functor>
void for_each_piece_on_cuda(Context& context, const Piece* pieces, int64_t n, const Functor& functor) {
  if (n <= 0) return;
  for_each_piece_kernel<<<unsigned(n), 256, 0, static_cast<cudaStream_t>(context.stream)>>>(pieces, functor);
  check_launch("for_each_piece");
}

template <typename Functor>
__global__ void reduce_rows_kernel(int64_t n, Functor functor, float* out, bool add) {
  __shared__ double parts[256];
  const int64_t k = blockIdx.x;
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += functor(k, i);
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[k] = float(parts[0] + (add ? double(out[k]) : 0.0));
}

template <typename Functor>
void reduce_rows_on_cuda(Context& context, int64_t rows, int64_t n, const Functor& functor, float* out, bool add) {
  if (rows <= 0) return;
  reduce_rows_kernel<<<unsigned(rows), 256, 0, static_cast<cudaStream_t>(context.stream)>>>(n, functor, out, add);
  check_launch("reduce_rows");
}

}  // namespace cortado
