#pragma once

// The only places where element-wise arithmetic learns which device it runs on. Included by .cu files alone: in a CUDA build
// they must all go through nvcc, because one functor instantiated by two compilers breaks the one-definition rule silently.
#if defined(CORTADO_WITH_CUDA) && !defined(__CUDACC__)
#error "core/for_each.h is for .cu files only"
#endif

#include <cstdint>

#include "core/context.h"
#include "core/host_device.h"
#include "core/simulated_device.h"
#include "core/tensor.h"
#include "core/threads.h"

#ifdef __CUDACC__
#include "core/for_each_cuda.cuh"
#endif

namespace cortado {

/// functor(i) for i in [0, n), in parallel, in no promised order. The functor is a named type with a
/// `CORTADO_HD void operator()(int64_t i) const`; what it writes for one i nobody else touches.
template <typename Functor>
void for_each(Context& context, int64_t n, const Functor& functor) {
#ifdef __CUDACC__
  if (context.device.is_cuda()) return for_each_on_cuda(context, n, functor);
#endif
  const DeviceAccess access(context);
  parallel_ranges(context, n, /*at_least=*/4096, [&](int64_t begin, int64_t end) {
    const Functor local = functor;  // a copy whose address does not escape: the loop vectorises
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) local(i);
  });
}

/// Geometry of a tensor seen as outer x channels x inner, in the layout it is stored in.
struct ChannelView {
  int64_t outer, channels, inner;
  Layout layout;
};

/// The view of `spec` around `axis` (1 is the channel axis; other axes only when the tensor is plain).
inline ChannelView channel_view(const TensorSpec& spec, int axis = 1) {
  return {spec.shape.count(0, axis), axis < spec.shape.axes() ? spec.shape[axis] : 1,
          axis < spec.shape.axes() ? spec.shape.count(axis + 1) : 1, spec.layout};
}

/// functor(i, c) for every stored element i of channel c; padding lanes of blocked tensors are skipped, so they stay as
/// they are. No division per element.
template <typename Functor>
void for_each_channel(Context& context, const ChannelView& view, const Functor& functor) {
#ifdef __CUDACC__
  if (context.device.is_cuda()) return for_each_channel_on_cuda(context, view, functor);
#endif
  const DeviceAccess access(context);
  const int64_t inner = view.inner, channels = view.channels;
  if (view.layout == Layout::kChannelsLast) {
    parallel_ranges(context, view.outer * inner, 64, [&](int64_t begin, int64_t end) {
      const Functor local = functor;
      for (int64_t r = begin; r < end; ++r)
#pragma GCC ivdep
        for (int64_t c = 0; c < channels; ++c) local(r * channels + c, c);
    });
  } else if (view.layout == Layout::kBlocked16) {
    const int64_t blocks = (channels + 15) / 16;
    parallel_ranges(context, view.outer * blocks, 1, [&](int64_t begin, int64_t end) {
      const Functor local = functor;
      for (int64_t r = begin; r < end; ++r) {
        const int64_t first = r % blocks * 16, lanes = channels - first < 16 ? channels - first : 16;
        for (int64_t s = 0; s < inner; ++s)
#pragma GCC ivdep
          for (int64_t lane = 0; lane < lanes; ++lane) local((r * inner + s) * 16 + lane, first + lane);
      }
    });
  } else {
    parallel_ranges(context, view.outer * channels, 1, [&](int64_t begin, int64_t end) {
      const Functor local = functor;
      for (int64_t r = begin; r < end; ++r) {
        const int64_t c = r % channels;
#pragma GCC ivdep
        for (int64_t s = 0; s < inner; ++s) local(r * inner + s, c);
      }
    });
  }
}

/// Elements [begin, end) of the array number `part` of several.
struct Piece {
  int64_t part, begin, end;
};

/// functor(part, i) for every element of n pieces, which lie in the memory of the context's device: one call for many arrays.
template <typename Functor>
void for_each_piece(Context& context, const Piece* pieces, int64_t n, const Functor& functor) {
#ifdef __CUDACC__
  if (context.device.is_cuda()) return for_each_piece_on_cuda(context, pieces, n, functor);
#endif
  const DeviceAccess access(context);
  parallel_ranges(context, n, 1, [&](int64_t begin, int64_t end) {
    const Functor local = functor;
    for (int64_t k = begin; k < end; ++k)
      for (int64_t i = pieces[k].begin; i < pieces[k].end; ++i) local(pieces[k].part, i);
  });
}

/// out[k] = sum over i in [0, n) of functor(k, i), for k in [0, rows). The sum runs in double in a fixed order per row, so the
/// result does not depend on the number of threads. `out` is written, or added to when `add`.
template <typename Functor>
void reduce_rows(Context& context, int64_t rows, int64_t n, const Functor& functor, float* out, bool add = false) {
#ifdef __CUDACC__
  if (context.device.is_cuda()) return reduce_rows_on_cuda(context, rows, n, functor, out, add);
#endif
  const DeviceAccess access(context);
  parallel_ranges(context, rows, 1, [&](int64_t begin, int64_t end) {
    const Functor local = functor;
    for (int64_t k = begin; k < end; ++k) {
      double lanes[8] = {};
      int64_t i = 0;
      for (; i + 8 <= n; i += 8)
        for (int lane = 0; lane < 8; ++lane) lanes[lane] += local(k, i + lane);
      for (; i < n; ++i) lanes[0] += local(k, i);
      double sum = 0;
      for (double lane : lanes) sum += lane;
      out[k] = float(sum + (add ? double(out[k]) : 0.0));
    }
  });
}

}  // namespace cortado
