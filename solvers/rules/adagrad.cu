// AdaGrad (Duchi et al., JMLR 2011): h += g^2; w -= rate g / (sqrt(h) + delta).

#include <cmath>

#include "solvers/rule_of.h"

namespace cortado {

namespace {

struct AdaGrad {
  static constexpr int kHistories = 1;
  float delta;
  explicit AdaGrad(const caffe::SolverParameter& config) : delta(config.delta()) {
    check_no_momentum(config);
    check_no_layer_rates(config);
    check_delta(config);
  }
  CORTADO_HD float operator()(const WeightStep& on, int64_t i) const {
    const float g = on.gradient(i), sum = on.history[0][i] + g * g;
    on.history[0][i] = sum;
    return on.rate * g / (sqrtf(sum) + delta);
  }
};

const RegisterUpdateRule register_adagrad("AdaGrad", make_rule<AdaGrad>);

}  // namespace

}  // namespace cortado
