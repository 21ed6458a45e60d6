// AdaGrad (Duchi et al., JMLR 2011): h += g^2; w -= rate g / (sqrt(h) + delta).

#include <cmath>

#include "core/for_each.h"
#include "solvers/update_rule.h"

namespace cortado {

namespace {

struct Update {
  Gradient gradient;
  float* w;
  float* h;
  float rate, delta;
  CORTADO_HD void operator()(int64_t i) const {
    const float g = gradient(i, w[i]), sum = h[i] + g * g;
    h[i] = sum;
    w[i] -= rate * g / (sqrtf(sum) + delta);
  }
};

void check(const caffe::SolverParameter& config) {
  check_no_momentum(config);
  check_delta(config);
}

void update(Context& context, const UpdateStep& step, const UpdateOperands& on) {
  for_each(context, on.count, Update{Gradient(step, on), on.w, on.history[0], step.rate, step.config.delta()});
}

const RegisterUpdateRule registered({
    .name = "AdaGrad",
    .help = "each weight's rate falls with the gradients it has seen",
    .histories = 1,
    .check = check,
    .update = update,
});

}  // namespace

}  // namespace cortado
