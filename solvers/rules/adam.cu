// Adam (Kingma and Ba, arXiv:1412.6980): m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
// w -= rate sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + delta), with b1 = momentum, b2 = momentum2, t = iter + 1.
//
// As in Caffe, delta is added outside of the correction (the paper's "epsilon hat") and weight decay is part of the
// gradient (this is not AdamW). History: m, then v.

#include <cmath>

#include "core/for_each.h"
#include "solvers/update_rule.h"

namespace cortado {

namespace {

struct Update {
  Gradient gradient;
  float* w;
  float* m;
  float* v;
  float beta1, beta2, rate, delta;
  CORTADO_HD void operator()(int64_t i) const {
    const float g = gradient(i, w[i]);
    const float mean = beta1 * m[i] + (1 - beta1) * g, square = beta2 * v[i] + (1 - beta2) * (g * g);
    m[i] = mean;
    v[i] = square;
    w[i] -= rate * mean / (sqrtf(square) + delta);
  }
};

void check(const caffe::SolverParameter& config) {
  check_delta(config);
  check_fraction("momentum", config.momentum());
  check_fraction("momentum2", config.momentum2());
}

void update(Context& context, const UpdateStep& step, const UpdateOperands& on) {
  const caffe::SolverParameter& config = step.config;
  const double t = double(step.iter + 1), beta1 = config.momentum(), beta2 = config.momentum2();
  const float rate = float(step.rate * std::sqrt(1 - std::pow(beta2, t)) / (1 - std::pow(beta1, t)));
  for_each(context, on.count,
           Update{Gradient(step, on), on.w, on.history[0], on.history[1], config.momentum(), config.momentum2(), rate,
                  config.delta()});
}

const RegisterUpdateRule registered({
    .name = "Adam",
    .help = "momentum divided by a running mean of the gradients' size",
    .histories = 2,
    .check = check,
    .update = update,
});

}  // namespace

}  // namespace cortado
