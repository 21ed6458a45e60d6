#pragma once

// The running average of a batch normalization in Caffe's format: sums of means and of unbiased variances, and the
// factor by which both are divided. A factor of 0 means that the average is empty, with mean 0 and variance 0. For .cu
// files, like core/loops/for_each.h.

#include "core/loops/for_each.h"
#include "kernels/channel_affine.h"
#include "kernels/running_average.h"

namespace cortado {

// Not shared between files: GCC 12 merges functions of two files if their local functors have the same name.
namespace {

/// Means and variances, and the sums of the running average.
struct Statistics {
  float *mean, *variance;
  float *means, *variances, *factor;
};

/// Updates these sums: `kept` is the weight of the old ones, a channel has `values` values. `factor` is null if another
/// average updates it.
inline kernels::RunningAverage moving_sums(float* means, float* variances, float* factor, float kept, int64_t values) {
  return {.means = means,
          .variances = variances,
          .factor = factor,
          .kept = kept,
          .variance_share = values > 1 ? float(double(values) / double(values - 1)) : 1};
}

struct TakeAverage {
  Statistics s;
  CORTADO_HD void operator()(int64_t c) const {
    const float scale = kernels::average_scale(*s.factor);
    s.mean[c] = s.means[c] * scale;
    s.variance[c] = s.variances[c] * scale;
  }
};

struct AddToAverage {
  kernels::RunningAverage average;
  const float *mean, *variance;
  CORTADO_HD void operator()(int64_t c) const { average.add(c, mean[c], variance[c]); }
};

}  // namespace

}  // namespace cortado
