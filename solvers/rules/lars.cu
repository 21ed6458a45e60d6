// LARS (You et al., arXiv:1708.03888): r = eta |w| / (|g| + decay |w|); h = m h + rate r (g + decay w); w -= h, with
// the norms of each weight blob, g without decay, eta = larc_eta; r is 1 where a norm is 0.
//
// Unlike with larc and local_lr_auto, lr_mult is applied, and the decay in r is the blob's own (with decay_mult).

#include <cmath>

#include "solvers/rule_of.h"

namespace cortado {

namespace {

struct Lars {
  static constexpr int kHistories = 1;
  float eta;
  explicit Lars(const caffe::SolverParameter& config) : eta(config.larc_eta()) {
    check_no_layer_rates(config);
    refuse_if(config.larc_eta() <= 0, "larc_eta", "larc_eta must be positive", "the default is 0.001");
  }
  CORTADO_HD WeightSums sums(const WeightStep& on, int64_t i) const {
    const double w = on.w[i], g = on.plain_gradient(i);
    return {{w * w, g * g, 0, 0}};
  }
  CORTADO_HD float rate(const WeightStep& on, const WeightSums& total) const {
    const double w = sqrt(total.of[0]), g = sqrt(total.of[1]);
    return w > 0 && g > 0 ? float(on.rate * eta * w / (g + on.l2 * w)) : on.rate;
  }
  CORTADO_HD float operator()(const WeightStep& on, int64_t i) const {
    const float velocity = on.momentum * on.history[0][i] + on.rate * on.gradient(i);
    on.history[0][i] = velocity;
    return velocity;
  }
};

const RegisterUpdateRule register_lars("LARS", make_rule<Lars>);

}  // namespace

}  // namespace cortado
