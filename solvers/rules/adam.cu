// Adam (Kingma and Ba, arXiv:1412.6980): m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
// w -= rate sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + delta), with b1 = momentum, b2 = momentum2, t = iter + 1.
//
// As in Caffe, delta is added outside the bias correction (the paper's "epsilon hat"), and weight decay is part of the
// gradient (this is not AdamW). History: m, then v.

#include <cmath>

#include "solvers/rule_of.h"

namespace cortado {

namespace {

struct Adam {
  static constexpr int kHistories = 2;
  float beta1, beta2, delta;
  explicit Adam(const caffe::SolverParameter& config)
      : beta1(config.momentum()), beta2(config.momentum2()), delta(config.delta()) {
    check_delta(config);
    check_mean_momentum(config);
    check_no_layer_rates(config);
    check_fraction("momentum2", config.momentum2());
  }
  Correction correction(int64_t iter) const {
    const double t = double(iter + 1), b1 = beta1, b2 = beta2;
    return {.rate = std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t))};
  }
  CORTADO_HD float operator()(const WeightStep& on, int64_t i) const {
    float *m = on.history[0], *v = on.history[1];
    const float g = on.gradient(i);
    const float mean = beta1 * m[i] + (1 - beta1) * g, square = beta2 * v[i] + (1 - beta2) * (g * g);
    m[i] = mean;
    v[i] = square;
    return on.rate * mean / (sqrtf(square) + delta);
  }
};

const RegisterUpdateRule register_adam("Adam", make_rule<Adam>);

}  // namespace

}  // namespace cortado
