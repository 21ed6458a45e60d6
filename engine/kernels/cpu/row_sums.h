#pragma once

#include <algorithm>
#include <cstdint>

#include "core/threads/threads.h"

namespace cortado::kernels {

/// sums[o] = (`add`: sums[o] +) the sum of y[o] over `rows` rows of `width` values, in order.
inline void sum_rows(Context& context, const float* y, int64_t rows, int64_t width, float* sums, bool add) {
  parallel_ranges(context, width, 64, [&](int64_t begin, int64_t end) {
    if (!add) std::fill(sums + begin, sums + end, 0.0f);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t o = begin; o < end; ++o) sums[o] += y[i * width + o];
  });
}

}  // namespace cortado::kernels
