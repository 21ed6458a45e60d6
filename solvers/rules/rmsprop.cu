// RMSProp (Tieleman and Hinton, Coursera lecture 6.5, 2012): h = d h + (1 - d) g^2; w -= rate g / (sqrt(h) + delta),
// with d = rms_decay.

#include <cmath>

#include "core/for_each.h"
#include "solvers/update_rule.h"

namespace cortado {

namespace {

struct Update {
  Gradient gradient;
  float* w;
  float* h;
  float decay, rate, delta;
  CORTADO_HD void operator()(int64_t i) const {
    const float g = gradient(i, w[i]), mean = decay * h[i] + (1 - decay) * (g * g);
    h[i] = mean;
    w[i] -= rate * g / (sqrtf(mean) + delta);
  }
};

void check(const caffe::SolverParameter& config) {
  check_no_momentum(config);
  check_delta(config);
  check_fraction("rms_decay", config.rms_decay());
}

void update(Context& context, const UpdateStep& step, const UpdateOperands& on) {
  const caffe::SolverParameter& config = step.config;
  for_each(context, on.count,
           Update{Gradient(step, on), on.w, on.history[0], config.rms_decay(), step.rate, config.delta()});
}

const RegisterUpdateRule registered({
    .name = "RMSProp",
    .help = "gradients divided by a running mean of their size",
    .histories = 1,
    .check = check,
    .update = update,
});

}  // namespace

}  // namespace cortado
