#pragma once

// The running average that training keeps of a batch's statistics, for kernels that keep it in passing.

#include <cstdint>

#include "core/host_device.h"

namespace cortado::kernels {

/// Each becomes kept times its old value plus a share of the batch's; Caffe's factor, which both are divided by, counts
/// the batch as 1.
struct RunningAverage {
  float *means = nullptr, *variances = nullptr;
  float* factor = nullptr;  ///< of all channels; may be null
  float kept = 0, mean_share = 1, variance_share = 1;

  CORTADO_HD explicit operator bool() const { return means != nullptr; }
  /// To be called once for each channel.
  CORTADO_HD void add(int64_t c, float mean, float variance) const {
    means[c] = kept * means[c] + mean_share * mean;
    variances[c] = kept * variances[c] + variance_share * variance;
    if (c == 0 && factor) *factor = kept * *factor + 1;
  }
};

}  // namespace cortado::kernels
