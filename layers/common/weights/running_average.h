#pragma once

// The running average of a batch normalisation as Caffe keeps it: sums of means and of unbiased variances, and the
// factor to divide both by. A factor of 0 means that there is none yet and gives mean 0, variance 0. For .cu files, as
// core/loops/for_each.h is.

#include "core/loops/for_each.h"
#include "kernels/channel_affine.h"
#include "kernels/running_average.h"

namespace cortado {

// Not shared between files: GCC 12 takes functions of two files' own functors of one name for the same.
namespace {

/// Means and variances, and the sums of them that make the running average.
struct Statistics {
  float *mean, *variance;
  float *means, *variances, *factor;
};

/// What moves these sums on: `kept` is the share of the old ones that stays, a channel has `values` values. `factor`:
/// null where another average moves it.
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
