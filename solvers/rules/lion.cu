// Lion (Chen et al., arXiv:2302.06675): w -= rate (sign(b1 m + (1 - b1) g) + decay w); m = b2 m + (1 - b2) g, with
// b1 = momentum, b2 = momentum2.
//
// The step uses another mean than the stored one. Weight decay acts on the weight only. The paper's b2 is 0.99;
// momentum2's default is Adam's 0.999. Rates are three to ten times smaller than AdamW's.

#include "solvers/rule_of.h"

namespace cortado {

namespace {

struct Lion {
  static constexpr int kHistories = 1;
  float beta1, beta2;
  explicit Lion(const caffe::SolverParameter& config) : beta1(config.momentum()), beta2(config.momentum2()) {
    check_mean_momentum(config);
    check_fraction("momentum2", config.momentum2());
    check_no_layer_rates(config);
  }
  CORTADO_HD float operator()(const WeightStep& on, int64_t i) const {
    const float g = on.plain_gradient(i), m = on.history[0][i];
    const float direction = WeightStep::sign_of(beta1 * m + (1 - beta1) * g), decay = on.decay(i);
    on.history[0][i] = beta2 * m + (1 - beta2) * g;
    return on.rate * (direction + decay);
  }
};

const RegisterUpdateRule register_lion("Lion", make_rule<Lion>);

}  // namespace

}  // namespace cortado
