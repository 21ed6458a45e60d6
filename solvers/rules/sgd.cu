// SGD with momentum: h = m h + rate g; w -= h.
//
// The rate is inside the velocity h, as in Caffe: when the rate drops, the velocity gathered at the old rate stays.

#include "solvers/layer_rate.h"

namespace cortado {

namespace {

struct Sgd {
  explicit Sgd(const caffe::SolverParameter&) {}
  CORTADO_HD void operator()(const WeightStep& on, int64_t i) const {
    const float velocity = on.momentum * on.history[0][i] + on.rate * on.gradient(i);
    on.history[0][i] = velocity;
    on.w[i] -= velocity;
  }
};

void check_sgd(const caffe::SolverParameter&) {}

const RegisterUpdateRule register_sgd(rule_with_layer_rates<Sgd>({
    .name = "SGD",
    .help = "gradient descent with momentum",
    .histories = 1,
    .check = check_sgd,
}));

}  // namespace

}  // namespace cortado
