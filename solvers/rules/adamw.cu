// AdamW (Loshchilov and Hutter, arXiv:1711.05101): m and v as Adam's, of the gradient without weight decay;
// w -= rate (m' / (sqrt(v') + delta) + decay w), with m' = m / (1 - b1^t), v' = v / (1 - b2^t).
//
// Unlike Adam here, delta is added after the correction, as the papers have it. Weight decay (L2 or L1) acts on the
// weight alone and is scaled by the rate of the schedule. History: m, then v.

#include <cmath>

#include "solvers/adam_means.h"
#include "solvers/rule_of.h"

namespace cortado {

namespace {

struct AdamW {
  AdamMeans means;
  explicit AdamW(const caffe::SolverParameter& config) : means(config) {}
  CORTADO_HD void operator()(const WeightStep& on, int64_t i) const {
    const float direction = means.next(on, i), decay = on.decay(i);
    on.w[i] -= on.rate * (direction + decay);
  }
};

const RegisterUpdateRule register_adamw(rule_of<AdamW>({
    .name = "AdamW",
    .help = "Adam with weight decay of its own, apart from the gradient",
    .histories = 2,
    .check = AdamMeans::check,
    .correction = AdamMeans::correction,
}));

}  // namespace

}  // namespace cortado
