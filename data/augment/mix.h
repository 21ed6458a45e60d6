#pragma once

// mixup (Zhang et al. 2018) and cutmix (Yun et al. 2019): sample i of a batch is mixed with sample n - 1 - i, with the
// same weights for both, and labels become weights of classes. Working on pairs allows mixing in place, without a
// second batch. In a batch in random order the pairs are random. The middle sample of an odd batch is not changed.

#include "core/context.h"
#include "core/tensor.h"
#include "data/augment/augment_plan.h"

namespace cortado::data {

/// The mixing of one pair, drawn on the host: the weight of the sample itself. A plain value.
struct MixParams {
  float share = 1;
  int32_t top = 0, left = 0, height = 0, width = 0;  ///< cutmix: the rectangle that they exchange; mixup: height 0
};

constexpr int mix_pairs(int n) { return n / 2; }

/// Draws for the pair whose first sample is at this position of the training's order of records. Depends on the
/// arguments only.
MixParams draw_mix(const MixPlan& plan, int height, int width, uint64_t seed, uint64_t position);

/// Mixes the pairs of x (n x channels x height x width, any layout except blocked, 32 or 16 bits) in place, and writes
/// class weights (n x classes) for the n labels. Everything is on the context's device, including `params`,
/// mix_pairs(n) of them. A label that is not a class gets weight 0 everywhere.
void mix_batch(Context& context, const MixParams* params, const Tensor& x, const float* labels, int classes,
               float* shares);

}  // namespace cortado::data
