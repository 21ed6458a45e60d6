#pragma once

// The running average of a batch normalisation as Caffe keeps it: sums of means and of unbiased variances, and the
// factor to divide both by. A factor of 0 means that there is none yet and gives mean 0, variance 0. For .cu files, as
// core/for_each.h is.

#include "core/for_each.h"
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
