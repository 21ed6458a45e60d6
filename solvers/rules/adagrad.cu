// AdaGrad (Duchi et al., JMLR 2011): h += g^2; w -= rate g / (sqrt(h) + delta).

#include <cmath>

#include "solvers/rule_of.h"

namespace cortado {

namespace {

struct AdaGrad {
  float delta;
  explicit AdaGrad(const caffe::SolverParameter& config) : delta(config.delta()) {}
  CORTADO_HD void operator()(const WeightStep& on, int64_t i) const {
    const float g = on.gradient(i), sum = on.history[0][i] + g * g;
    on.history[0][i] = sum;
    on.w[i] -= on.rate * g / (sqrtf(sum) + delta);
  }
};

void check_adagrad(const caffe::SolverParameter& config) {
  check_no_momentum(config);
  check_no_layer_rates(config);
  check_delta(config);
}

const RegisterUpdateRule register_adagrad(rule_of<AdaGrad>({
    .name = "AdaGrad",
    .help = "each weight's rate falls with the gradients it has seen",
    .histories = 1,
    .check = check_adagrad,
}));

}  // namespace

}  // namespace cortado
