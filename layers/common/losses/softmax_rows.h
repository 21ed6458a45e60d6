#pragma once

// Softmax for the losses that contain it: row r is one of outer x inner, of outer x classes x inner values. For .cu
// files.

#include "core/loops/for_each_row.h"

namespace cortado {

struct SoftmaxRows {
  int64_t classes, inner;

  CORTADO_HD int64_t at(int64_t r, int64_t c) const { return (r / inner * classes + c) * inner + r % inner; }

  /// Writes row r of p. Subtracts the largest score first to avoid overflow.
  template <typename T>
  CORTADO_HD void write(int64_t r, const T* x, float* p, const RowGroup& group = RowGroup(0, 1)) const {
    const int64_t step = inner;
    const T* from = x + at(r, 0);
    float* to = p + at(r, 0);
    const float largest = group.largest(classes, [=](int64_t c) { return float(from[c * step]); });
    const float sum = group.sum(classes, [=](int64_t c) { return to[c * step] = expf(from[c * step] - largest); });
    group.each(classes, [=](int64_t c) { to[c * step] /= sum; });
  }
};

/// sums[r] = sum of p dp over the classes, for the gradient of p.
struct GradientOfP {
  SoftmaxRows rows;
  const float *p, *dp;
  float* sums;
  CORTADO_HD void operator()(int64_t r) const {
    float sum = 0;
    for (int64_t c = 0; c < rows.classes; ++c) sum += p[rows.at(r, c)] * dp[rows.at(r, c)];
    sums[r] = sum;
  }
};

}  // namespace cortado
