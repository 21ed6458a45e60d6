#pragma once

// mixup (Zhang et al. 2018) and cutmix (Yun et al. 2019): sample i of a batch is mixed with sample n - 1 - i, each
// keeping the same share of itself, and labels become shares of classes. In pairs, so that it is done in place and
// needs no second batch; a batch in random order makes pairs at random. The middle one of an odd batch stays as it is.

#include "core/context.h"
#include "core/tensor.h"
#include "data/augment/augment_plan.h"

namespace cortado::data {

/// What happens to one pair, drawn on the host: both keep this share of themselves. A plain value.
struct MixParams {
  float share = 1;
  int32_t top = 0, left = 0, height = 0, width = 0;  ///< cutmix: the rectangle that they exchange; mixup: height 0
};

constexpr int mix_pairs(int n) { return n / 2; }

/// For the pair whose first sample has this position in the training's order of records: a pure function.
MixParams draw_mix(const MixPlan& plan, int height, int width, uint64_t seed, uint64_t position);

/// Mixes the pairs of x (n x channels x height x width, any layout but blocked, 32 or 16 bits) in place and writes
/// shares (n x classes) for the n labels: all on the context's device, as is `params`, mix_pairs(n) of them. A label
/// that is no class has no share.
void mix_batch(Context& context, const MixParams* params, const Tensor& x, const float* labels, int classes,
               float* shares);

}  // namespace cortado::data
