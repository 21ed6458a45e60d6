// LAMB (You et al., arXiv:1904.00962): u = AdamW's direction + decay w; w -= rate |w| / |u| u, with the norms of each
// weight blob; the factor is 1 where a norm is 0. History: m, then v.
//
// Biases are treated like all other weights, unless lr_mult and decay_mult exclude them.

#include <cmath>

#include "solvers/adam_means.h"
#include "solvers/rule_of.h"

namespace cortado {

namespace {

struct Lamb : AdamMeans {
  using AdamMeans::AdamMeans;
  CORTADO_HD WeightSums sums(const WeightStep& on, int64_t i) const {
    const double w = on.w[i], u = next(on, i) + on.decay(i);
    return {{w * w, u * u, 0, 0}};
  }
  CORTADO_HD float rate(const WeightStep& on, const WeightSums& total) const {
    const double w = sqrt(total.of[0]), u = sqrt(total.of[1]);
    return w > 0 && u > 0 ? float(double(on.rate) * w / u) : on.rate;
  }
  CORTADO_HD float operator()(const WeightStep& on, int64_t i) const {
    const float u = direction(on, i) + on.decay(i);
    return on.rate * u;
  }
};

const RegisterUpdateRule register_lamb("LAMB", make_rule<Lamb>);

}  // namespace

}  // namespace cortado
