// SGD with momentum: h = m h + rate g; w -= h.
//
// The velocity h includes the rate, as in Caffe: after a drop of the rate, velocity from the old rate remains.

#include "solvers/layer_rate.h"

namespace cortado {

namespace {

struct Sgd {
  static constexpr int kHistories = 1;
  explicit Sgd(const caffe::SolverParameter&) {}
  CORTADO_HD float operator()(const WeightStep& on, int64_t i) const {
    const float velocity = on.momentum * on.history[0][i] + on.rate * on.gradient(i);
    on.history[0][i] = velocity;
    return velocity;
  }
};

const RegisterUpdateRule register_sgd("SGD", make_rule_with_layer_rates<Sgd>);

}  // namespace

}  // namespace cortado
