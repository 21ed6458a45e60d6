// AdaDelta (Zeiler, arXiv:1212.5701): a = m a + (1 - m) g^2; d = g sqrt((b + delta) / (a + delta));
// b = m b + (1 - m) d^2; w -= rate d, with m = momentum. History: a, then b.
//
// The paper has no rate; Caffe has, and keeps it out of b. With base_lr: 1 it is the paper's rule.

#include <cmath>

#include "core/for_each.h"
#include "solvers/update_rule.h"

namespace cortado {

namespace {

struct Update {
  Gradient gradient;
  float* w;
  float* a;
  float* b;
  float momentum, rate, delta;
  CORTADO_HD void operator()(int64_t i) const {
    const float g = gradient(i, w[i]), mean = momentum * a[i] + (1 - momentum) * (g * g);
    const float d = g * sqrtf((b[i] + delta) / (mean + delta));
    a[i] = mean;
    b[i] = momentum * b[i] + (1 - momentum) * (d * d);
    w[i] -= rate * d;
  }
};

void check(const caffe::SolverParameter& config) {
  check_delta(config);
  check_fraction("momentum", config.momentum());
}

void update(Context& context, const UpdateStep& step, const UpdateOperands& on) {
  const caffe::SolverParameter& config = step.config;
  for_each(
      context, on.count,
      Update{Gradient(step, on), on.w, on.history[0], on.history[1], config.momentum(), step.rate, config.delta()});
}

const RegisterUpdateRule registered({
    .name = "AdaDelta",
    .help = "steps in the weights' own units, from running means of gradients and steps",
    .histories = 2,
    .check = check,
    .update = update,
});

}  // namespace

}  // namespace cortado
