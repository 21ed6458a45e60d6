#pragma once

// The divisor of a sum of losses: all rows (FULL), those that count (VALID), the batch (BATCH_SIZE), 1 (NONE) or
// Intel's fixed number (PRE_FIXED), but at least 1. With class weights VALID is the sum of the weights of the rows that
// count, which may be less than 1: a weighted mean.

#include "core/host_device.h"
#include "layers/roles.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// The normalizer, or `counted` if it is the number of rows that count (0: known only in each pass). `unless_told` is
/// the mode if loss_param has neither `normalization` nor `normalize`.
float fixed_normalizer(const caffe::LossParameter& options, caffe::LossParameter::NormalizationMode unless_told,
                       int64_t all, int64_t batch, float counted = 0);

/// The parts of a loss as a ratio: its `fixed` normalizer, or the two `sums` that NormalizeLoss wrote. NONE and
/// PRE_FIXED do not divide by a count.
Ratio loss_quotient(const caffe::LossParameter& options, caffe::LossParameter::NormalizationMode unless_told,
                    float fixed, const float* sums);

/// For for_each over one element. sums[0] is the sum of losses, sums[1] the number of rows that count.
struct NormalizeLoss {
  const float* sums;
  float *loss, *normalizer;
  float fixed;
  float* quotient;        ///< output for both sums; null: not needed
  bool weighted = false;  ///< sums[1] is a sum of weights
  CORTADO_HD void operator()(int64_t) const {
    const float wanted = fixed > 0 ? fixed : sums[1], least = weighted && fixed <= 0 ? 0 : 1;
    *normalizer = wanted > least ? wanted : 1;
    *loss = sums[0] / *normalizer;
    if (quotient) quotient[0] = sums[0], quotient[1] = sums[1];
  }
};

}  // namespace cortado
