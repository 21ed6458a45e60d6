// AdaDelta (Zeiler, arXiv:1212.5701): a = m a + (1 - m) g^2; d = g sqrt((b + delta) / (a + delta));
// b = m b + (1 - m) d^2; w -= rate d, with m = momentum. History: a, then b.
//
// The paper has no learning rate. Caffe has one and keeps it out of b. With base_lr: 1 this is the paper's rule.

#include <cmath>

#include "solvers/rule_of.h"

namespace cortado {

namespace {

struct AdaDelta {
  static constexpr int kHistories = 2;
  float momentum, delta;
  explicit AdaDelta(const caffe::SolverParameter& config) : momentum(config.momentum()), delta(config.delta()) {
    check_delta(config);
    check_mean_momentum(config);
    check_no_layer_rates(config);
  }
  CORTADO_HD float operator()(const WeightStep& on, int64_t i) const {
    float *a = on.history[0], *b = on.history[1];
    const float g = on.gradient(i), mean = momentum * a[i] + (1 - momentum) * (g * g);
    const float d = g * sqrtf((b[i] + delta) / (mean + delta));
    a[i] = mean;
    b[i] = momentum * b[i] + (1 - momentum) * (d * d);
    return on.rate * d;
  }
};

const RegisterUpdateRule register_adadelta("AdaDelta", make_rule<AdaDelta>);

}  // namespace

}  // namespace cortado
