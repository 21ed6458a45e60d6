#pragma once

// Loops and reductions that dispatch element-wise work by device. Only .cu files include this: in a CUDA build all of
// them must be compiled by nvcc, because one functor instantiated by two compilers silently violates the one-definition
// rule.
#if defined(CORTADO_WITH_CUDA) && !defined(__CUDACC__)
#error "core/loops/for_each.h is for .cu files only"
#endif

#include <cstdint>
#include <optional>

#include "core/context.h"
#include "core/device/recording.h"
#include "core/host_device.h"
#include "core/loops/by_packs.h"
#include "core/tensor.h"
#include "core/threads/threads.h"

#ifdef __CUDACC__
#include "core/loops/for_each_cuda.cuh"
#endif

namespace cortado {

/// Whether host threads run functors. A functor for many values at once then saves work; on a GPU each thread has one
/// value.
inline bool host_threads_run(const Context& context) { return !context.device.is_cuda(); }

/// Bytes moved by a launch of `functor` for n elements: from its declared arrays (core/loops/by_packs.h) or its own
/// `Traffic traffic(int64_t n) const`. A single call counts as 0; nullopt if unknown.
template <typename Functor>
std::optional<Traffic> traffic_of(const Functor& functor, int64_t n) {
  if constexpr (requires { functor.traffic(n); })
    return functor.traffic(n);
  else if constexpr (Vectorizable<Functor>)
    return packs::traffic(n, typename Functor::Arrays());
  else
    return n <= 1 ? std::optional(Traffic{}) : std::nullopt;
}

/// Runs functor(i) for i in [0, n) in parallel, in unspecified order. The functor is a named type with `CORTADO_HD void
/// operator()(int64_t i) const`. What it writes for one i must be independent of all other i. For memory-bound functors
/// see core/loops/by_packs.h.
template <typename Functor>
void for_each(Context& context, int64_t n, const Functor& functor) {
#ifdef __CUDACC__
  if (context.device.is_cuda()) return for_each_on_cuda(context, n, functor);
#endif
  if (n <= 0) return;
  const auto work = [&context, n, functor] {
    int64_t packed = 0;
    if constexpr (Vectorizable<Functor>)
      if (context.device.is_simulated() && fits_packs(functor)) packed = n - n % Functor::Arrays::kWidth;
    if constexpr (Vectorizable<Functor>)
      for (int64_t i = 0; i < packed; i += Functor::Arrays::kWidth) run_pack(functor, i);
    parallel_ranges(context, n - packed, /*at_least=*/4096, [&](int64_t begin, int64_t end) {
      const Functor local = functor;  // a copy whose address does not escape, so that the loop vectorizes
#pragma GCC ivdep
      for (int64_t i = packed + begin; i < packed + end; ++i) local(i);
    });
  };
  do_or_record(context, work, traffic_of(functor, n));
}

/// A tensor viewed as outer x channels x inner, in its stored layout.
struct ChannelView {
  int64_t outer, channels, inner;
  Layout layout;
};

/// The view of `spec` around `axis`: 1 is the channel axis; other axes require a plain tensor.
inline ChannelView channel_view(const TensorSpec& spec, int axis = 1) {
  return {spec.shape.count(0, axis), axis < spec.shape.axes() ? spec.shape[axis] : 1,
          axis < spec.shape.axes() ? spec.shape.count(axis + 1) : 1, spec.layout};
}

/// Runs functor(i, c) for rows [begin, end) of stored elements: positions of channels-last tensors, 16-channel blocks
/// of an image, planes of plain tensors.
template <typename Functor>
void run_rows(const ChannelView& view, const Functor& functor, int64_t begin, int64_t end) {
  const Functor local = functor;
  const int64_t inner = view.inner, channels = view.channels, blocks = (channels + 15) / 16;
  for (int64_t r = begin; r < end; ++r) {
    if (view.layout == Layout::kChannelsLast) {
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) local(r * channels + c, c);
    } else if (view.layout == Layout::kBlocked16) {
      const int64_t first = r % blocks * 16, lanes = channels - first < 16 ? channels - first : 16;
      for (int64_t s = 0; s < inner; ++s)
#pragma GCC ivdep
        for (int64_t lane = 0; lane < lanes; ++lane) local((r * inner + s) * 16 + lane, first + lane);
    } else {
      const int64_t c = r % channels;
#pragma GCC ivdep
      for (int64_t s = 0; s < inner; ++s) local(r * inner + s, c);
    }
  }
}

/// Whether no pack crosses a row boundary.
template <typename Functor>
bool packs_fit_rows(const ChannelView& view, const Functor& functor) {
  if constexpr (Vectorizable<Functor>) {
    const int64_t row = view.layout == Layout::kChannelsLast ? view.channels : view.inner;
    return view.layout != Layout::kBlocked16 && row % Functor::Arrays::kWidth == 0 && fits_packs(functor);
  }
  return false;
}

/// Like run_rows for all rows, by packs. Requires packs_fit_rows().
template <typename Functor>
void run_packs_of_rows(const ChannelView& view, const Functor& functor) {
  const bool last = view.layout == Layout::kChannelsLast;
  if constexpr (Vectorizable<Functor>)
    for (int64_t i = 0; i < view.outer * view.channels * view.inner; i += Functor::Arrays::kWidth)
      run_pack(functor, i, (last ? i : i / view.inner) % view.channels, last ? 1 : 0);
}

/// Runs functor(i, c) for every stored element i of channel c. Padding lanes of blocked tensors are skipped and keep
/// their values. Needs no division per element. A vectorizable functor uses i only as an index of its arrays.
template <typename Functor>
void for_each_channel(Context& context, const ChannelView& view, const Functor& functor) {
#ifdef __CUDACC__
  if (context.device.is_cuda()) return for_each_channel_on_cuda(context, view, functor, packs_fit_rows(view, functor));
#endif
  const int64_t n = view.outer * view.channels * view.inner;
  if (n <= 0) return;
  const auto work = [&context, view, functor] {
    if (context.device.is_simulated() && packs_fit_rows(view, functor)) return run_packs_of_rows(view, functor);
    const bool last = view.layout == Layout::kChannelsLast, blocked = view.layout == Layout::kBlocked16;
    const int64_t rows = view.outer * (last ? view.inner : blocked ? (view.channels + 15) / 16 : view.channels);
    parallel_ranges(context, rows, last ? 64 : 1,
                    [&](int64_t begin, int64_t end) { run_rows(view, functor, begin, end); });
  };
  do_or_record(context, work, traffic_of(functor, n));
}

/// Elements [begin, end) of array number `part`.
struct Piece {
  int64_t part, begin, end;
};

/// Runs functor(part)(i) for every element of n pieces, a list in device memory: one launch for many arrays.
/// functor(part), called once per piece, returns the functor of that array.
template <typename Functor>
void for_each_piece(Context& context, const Piece* pieces, int64_t n, const Functor& functor) {
#ifdef __CUDACC__
  if (context.device.is_cuda()) return for_each_piece_on_cuda(context, pieces, n, functor);
#endif
  if (n <= 0) return;
  const auto work = [&context, pieces, n, functor] {
    parallel_ranges(context, n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const auto local = functor(pieces[k].part);
        for (int64_t i = pieces[k].begin; i < pieces[k].end; ++i) local(i);
      }
    });
  };
  do_or_record(context, work, traffic_of(functor, n));
}

/// out[k] = sum over i in [0, n) of functor(k, i), for k in [0, rows). Sums in double and in a fixed order per row, so
/// the result does not depend on the number of threads. `add` adds to `out`. The functor's traffic(rows * n) includes
/// `out`.
template <typename Functor>
void reduce_rows(Context& context, int64_t rows, int64_t n, const Functor& functor, float* out, bool add = false) {
#ifdef __CUDACC__
  if (context.device.is_cuda()) return reduce_rows_on_cuda(context, rows, n, functor, out, add);
#endif
  if (rows <= 0) return;
  const auto work = [&context, rows, n, functor, out, add] {
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
  };
  do_or_record(context, work, traffic_of(functor, rows * n));
}

}  // namespace cortado
