#pragma once

// The running average of batch statistics in training, updated by kernels.

#include <cstdint>

#include "core/host_device.h"

namespace cortado::kernels {

/// Each average becomes `kept` times its old value plus a share of the batch's value. Caffe's `factor`, by which both
/// are divided, counts the batch as 1.
struct RunningAverage {
  float *means = nullptr, *variances = nullptr;
  float* factor = nullptr;  ///< for all channels; may be null
  float kept = 0, mean_share = 1, variance_share = 1;

  CORTADO_HD explicit operator bool() const { return means != nullptr; }
  /// Call it once per channel.
  CORTADO_HD void add(int64_t c, float mean, float variance) const {
    means[c] = kept * means[c] + mean_share * mean;
    variances[c] = kept * variances[c] + variance_share * variance;
    if (c == 0 && factor) *factor = kept * *factor + 1;
  }
};

}  // namespace cortado::kernels
