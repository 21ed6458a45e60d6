// SGD with momentum: h = m h + rate g; w -= h.
//
// The rate is inside the velocity h, as in Caffe: when the rate drops, the velocity gathered at the old rate goes on.

#include "solvers/rule_of.h"

namespace cortado {

namespace {

struct Sgd {
  float momentum;
  explicit Sgd(const caffe::SolverParameter& config) : momentum(config.momentum()) {}
  CORTADO_HD void operator()(const WeightStep& on, int64_t i) const {
    const float velocity = momentum * on.history[0][i] + on.rate * on.gradient(i);
    on.history[0][i] = velocity;
    on.w[i] -= velocity;
  }
};

void check(const caffe::SolverParameter&) {}

const RegisterUpdateRule registered(rule_of<Sgd>({
    .name = "SGD",
    .help = "gradient descent with momentum",
    .histories = 1,
    .check = check,
}));

}  // namespace

}  // namespace cortado
