// NVIDIA's SAG, stochastic averaged gradient: h = m h + (1 - m) g; w -= rate h.
//
// Unlike SGD's, the velocity is a mean of gradients without the rate, so a drop of the rate takes effect at once.

#include "solvers/layer_rate.h"

namespace cortado {

namespace {

struct Sag {
  static constexpr int kHistories = 1;
  explicit Sag(const caffe::SolverParameter& config) { check_fraction("momentum", config.momentum()); }
  CORTADO_HD float operator()(const WeightStep& on, int64_t i) const {
    const float mean = on.momentum * on.history[0][i] + (1 - on.momentum) * on.gradient(i);
    on.history[0][i] = mean;
    return on.rate * mean;
  }
};

const RegisterUpdateRule register_sag("SAG", make_rule_with_layer_rates<Sag>);

}  // namespace

}  // namespace cortado
