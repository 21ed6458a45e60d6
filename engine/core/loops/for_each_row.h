#pragma once

// Rows of many values each, of which several lanes of a device take one together: on a CUDA device the 32 lanes of a
// warp, which read neighbouring values, elsewhere one. For .cu files, as core/loops/for_each.h is.

#include <cmath>

#include "core/loops/for_each.h"

namespace cortado {

/// The lanes that share a row. All of them call the same members, and all get the result.
class RowGroup {
 public:
  CORTADO_HD RowGroup(int lane, int lanes) : lane_(lane), lanes_(lanes) {}

  CORTADO_HD bool leads() const { return lane_ == 0; }
  /// step(i) for i in [0, n), each by one of them; the others see what it wrote.
  template <typename Step>
  CORTADO_HD void each(int64_t n, const Step& step) const {
    for (int64_t i = lane_; i < n; i += lanes_) step(i);
#ifdef __CUDA_ARCH__
    if (lanes_ > 1) __syncwarp();
#endif
  }
  /// The sum, or the largest, of term(i) for i in [0, n); of nothing 0, or -infinity.
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
    for (int64_t i = lane_; i < n; i += lanes_)  // not fmaxf(), on which GCC 12 fails for ARM
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

/// functor(row, group) for each row. `together`: the values of a row are neighbours in memory, so a group shares it;
/// else neighbouring rows are, and each has one lane.
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
