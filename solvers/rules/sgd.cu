// SGD with momentum: h = m h + rate g; w -= h.
//
// The rate is inside the velocity h, as in Caffe: when the rate drops, the velocity gathered at the old rate goes on.

#include "core/for_each.h"
#include "solvers/update_rule.h"

namespace cortado {

namespace {

struct Update {
  Gradient gradient;
  float* w;
  float* h;
  float momentum, rate;
  CORTADO_HD void operator()(int64_t i) const {
    const float velocity = momentum * h[i] + rate * gradient(i, w[i]);
    h[i] = velocity;
    w[i] -= velocity;
  }
};

void check(const caffe::SolverParameter&) {}

void update(Context& context, const UpdateStep& step, const UpdateOperands& on) {
  for_each(context, on.count, Update{Gradient(step, on), on.w, on.history[0], step.config.momentum(), step.rate});
}

const RegisterUpdateRule registered({
    .name = "SGD",
    .help = "gradient descent with momentum",
    .histories = 1,
    .check = check,
    .update = update,
});

}  // namespace

}  // namespace cortado
