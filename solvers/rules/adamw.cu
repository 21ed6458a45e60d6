// AdamW (Loshchilov and Hutter, arXiv:1711.05101): m and v as Adam's, of the gradient without weight decay;
// w -= rate (m' / (sqrt(v') + delta) + decay w), with m' = m / (1 - b1^t), v' = v / (1 - b2^t).
//
// Unlike in Adam here, delta is added after the correction, as in the papers. Weight decay (L2 or L1) acts on the
// weight only and is scaled by the scheduled rate. History: m, then v.

#include <cmath>

#include "solvers/adam_means.h"
#include "solvers/rule_of.h"

namespace cortado {

namespace {

struct AdamW : AdamMeans {
  using AdamMeans::AdamMeans;
  CORTADO_HD float operator()(const WeightStep& on, int64_t i) const {
    const float direction = next(on, i), decay = on.decay(i);
    return on.rate * (direction + decay);
  }
};

const RegisterUpdateRule register_adamw("AdamW", make_rule<AdamW>);

}  // namespace

}  // namespace cortado
