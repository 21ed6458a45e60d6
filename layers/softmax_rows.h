#pragma once

// Softmax as the losses that contain it do it: row r, one of outer x inner, of outer x classes x inner values. For .cu
// files.

#include <cmath>
#include <cstdint>

#include "core/host_device.h"

namespace cortado {

struct SoftmaxRows {
  int64_t classes, inner;

  CORTADO_HD int64_t at(int64_t r, int64_t c) const { return (r / inner * classes + c) * inner + r % inner; }

  /// Writes row r of p; the largest score is subtracted first, so nothing overflows.
  template <typename T>
  CORTADO_HD void write(int64_t r, const T* x, float* p) const {
    const int64_t first = at(r, 0);
    float largest = x[first], sum = 0;
    for (int64_t c = 1; c < classes; ++c) largest = fmaxf(largest, x[first + c * inner]);
    for (int64_t c = 0; c < classes; ++c) sum += p[first + c * inner] = expf(x[first + c * inner] - largest);
    for (int64_t c = 0; c < classes; ++c) p[first + c * inner] /= sum;
  }
};

/// sums[r] = sum of p dp over the classes: what a gradient of p needs.
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
