// Nesterov's accelerated gradient: h' = m h + rate g; w -= (1 + m) h' - m h.
//
// The stored weight is the look-ahead point, so the gradient is computed where the next step would lead (Sutskever et
// al., "On the importance of initialization and momentum in deep learning", ICML 2013).

#include "solvers/layer_rate.h"

namespace cortado {

namespace {

struct Nesterov {
  static constexpr int kHistories = 1;
  explicit Nesterov(const caffe::SolverParameter&) {}
  CORTADO_HD float operator()(const WeightStep& on, int64_t i) const {
    const float before = on.history[0][i], velocity = on.momentum * before + on.rate * on.gradient(i);
    on.history[0][i] = velocity;
    return (1 + on.momentum) * velocity - on.momentum * before;
  }
};

const RegisterUpdateRule register_nesterov("Nesterov", make_rule_with_layer_rates<Nesterov>);

}  // namespace

}  // namespace cortado
