#pragma once

// Loops over rows that several lanes of a device process together: on CUDA the 32 lanes of a warp, which read
// neighbouring values; elsewhere one lane. For .cu files only, like core/loops/for_each.h.

#include <cmath>

#include "core/loops/for_each.h"

namespace cortado {

/// The lanes that share a row. All lanes call the same members and receive the same result.
class RowGroup {
 public:
  CORTADO_HD RowGroup(int lane, int lanes) : lane_(lane), lanes_(lanes) {}

  CORTADO_HD bool leads() const { return lane_ == 0; }
  /// Runs step(i) for i in [0, n), distributed over the lanes; all lanes see the writes afterwards.
  template <typename Step>
  CORTADO_HD void each(int64_t n, const Step& step) const {
    for (int64_t i = lane_; i < n; i += lanes_) step(i);
#ifdef __CUDA_ARCH__
    if (lanes_ > 1) __syncwarp();
#endif
  }
  /// The sum, or the maximum, of term(i) for i in [0, n); 0 or -infinity if n is 0.
  template <typename Term>
  CORTADO_HD float sum(int64_t n, const Term& term) const {
    float total = 0;
    for (int64_t i = lane_; i < n; i += lanes_) total += term(i);
#ifdef __CUDA_ARCH__
    for (int apart = lanes_ / 2; apart > 0; apart /= 2) total += __shfl_xor_sync(~0u, total, apart);
#endif
    return total;
  }
  template <typename Term>
  CORTADO_HD float largest(int64_t n, const Term& term) const {
    float most = -INFINITY;
    for (int64_t i = lane_; i < n; i += lanes_)  // not fmaxf(): GCC 12 fails on it for ARM
      if (const float value = term(i); value > most) most = value;
#ifdef __CUDA_ARCH__
    for (int apart = lanes_ / 2; apart > 0; apart /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, apart));
#endif
    return most;
  }

 private:
  int lane_, lanes_;
};

#ifdef __CUDACC__
template <typename Functor>
__global__ void for_each_row_kernel(int64_t rows, int lanes, Functor functor) {
  const int64_t at = first_of_grid();
  const RowGroup group(int(at % lanes), lanes);
  for (int64_t row = at / lanes; row < rows; row += step_of_grid() / lanes) functor(row, group);
}
#endif

/// Runs functor(row, group) for each row. `together`: the values of a row are adjacent in memory, so a group of lanes
/// shares it. Otherwise adjacent rows are, and each row has one lane.
template <typename Functor>
void for_each_row(Context& context, int64_t rows, [[maybe_unused]] bool together, const Functor& functor) {
#ifdef __CUDACC__
  if (context.device.is_cuda()) {
    if (rows <= 0) return;
    const int lanes = together ? 32 : 1;
    for_each_row_kernel<<<grid_for(rows * lanes), kThreads, 0, stream_of(context)>>>(rows, lanes, functor);
    return check_launch("for_each_row");
  }
#endif
  if (rows <= 0) return;
  const auto work = [&context, rows, functor] {
    parallel_ranges(context, rows, 1, [&](int64_t begin, int64_t end) {
      const Functor local = functor;
      for (int64_t row = begin; row < end; ++row) local(row, RowGroup(0, 1));
    });
  };
  do_or_record(context, work, traffic_of(functor, rows));
}

}  // namespace cortado
