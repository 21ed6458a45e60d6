#pragma once

// What a sum of losses is divided by: all of them (FULL), those that count (VALID), the batch (BATCH_SIZE), 1 (NONE) or
// Intel's fixed number (PRE_FIXED), but never by less than 1. Where classes have weights VALID is the sum of those that
// count, which may be less than 1: a weighted mean.

#include "core/host_device.h"
#include "layers/roles.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// The normalizer, or `counted` where it is the number of those that count: 0 where that is found out in each pass.
/// `unless_told` is what a loss_param without `normalization` and `normalize` means.
float fixed_normalizer(const caffe::LossParameter& options, caffe::LossParameter::NormalizationMode unless_told,
                       int64_t all, int64_t batch, float counted = 0);

/// What a loss is the quotient of: its `fixed` normalizer, or `sums` where NormalizeLoss wrote the two. NONE and
/// PRE_FIXED divide by no count.
Ratio loss_quotient(const caffe::LossParameter& options, caffe::LossParameter::NormalizationMode unless_told,
                    float fixed, const float* sums);

/// For for_each over one element. sums[0] is the sum of losses, sums[1] how many count.
struct NormalizeLoss {
  const float* sums;
  float *loss, *normalizer;
  float fixed;
  float* quotient;        ///< takes both sums; null: not wanted
  bool weighted = false;  ///< sums[1] is one of weights
  CORTADO_HD void operator()(int64_t) const {
    const float wanted = fixed > 0 ? fixed : sums[1], least = weighted && fixed <= 0 ? 0 : 1;
    *normalizer = wanted > least ? wanted : 1;
    *loss = sums[0] / *normalizer;
    if (quotient) quotient[0] = sums[0], quotient[1] = sums[1];
  }
};

}  // namespace cortado
