// Nesterov's accelerated gradient: h' = m h + rate g; w -= (1 + m) h' - m h.
//
// The weight that is stored is the point looked ahead at, so the gradient is taken where the next step would lead
// (Sutskever et al., "On the importance of initialization and momentum in deep learning", ICML 2013).

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
    const float before = h[i], velocity = momentum * before + rate * gradient(i, w[i]);
    h[i] = velocity;
    w[i] -= (1 + momentum) * velocity - momentum * before;
  }
};

void check(const caffe::SolverParameter&) {}

void update(Context& context, const UpdateStep& step, const UpdateOperands& on) {
  for_each(context, on.count, Update{Gradient(step, on), on.w, on.history[0], step.config.momentum(), step.rate});
}

const RegisterUpdateRule registered({
    .name = "Nesterov",
    .help = "momentum that looks one step ahead",
    .histories = 1,
    .check = check,
    .update = update,
});

}  // namespace

}  // namespace cortado
