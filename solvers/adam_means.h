#pragma once

// The arithmetic that AdamW and LAMB share: running means of the plain gradient and of its square, with bias
// correction.
//   m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; direction = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + delta)
// with b1 = momentum, b2 = momentum2, t = iter + 1.

#include <cmath>

#include "solvers/field_checks.h"
#include "solvers/update_rule.h"

namespace cortado {

struct AdamMeans {
  static constexpr int kHistories = 2;
  float beta1, beta2, delta;
  explicit AdamMeans(const caffe::SolverParameter& config)
      : beta1(config.momentum()), beta2(config.momentum2()), delta(config.delta()) {
    check_delta(config);
    check_mean_momentum(config);
    check_fraction("momentum2", config.momentum2());
    check_no_layer_rates(config);
  }

  /// The update direction from the means in histories 0 and 1.
  CORTADO_HD float direction(const WeightStep& on, int64_t i) const {
    return on.history[0][i] * on.correction.mean / (sqrtf(on.history[1][i] * on.correction.square) + delta);
  }

  /// Adds this iteration's gradient to the means and returns the new direction.
  CORTADO_HD float next(const WeightStep& on, int64_t i) const {
    float *m = on.history[0], *v = on.history[1];
    const float g = on.plain_gradient(i);
    m[i] = beta1 * m[i] + (1 - beta1) * g;
    v[i] = beta2 * v[i] + (1 - beta2) * (g * g);
    return direction(on, i);
  }

  Correction correction(int64_t iter) const {
    const double t = double(iter + 1);
    return {.mean = float(1 / (1 - std::pow(double(beta1), t))), .square = float(1 / (1 - std::pow(double(beta2), t)))};
  }
};

}  // namespace cortado
