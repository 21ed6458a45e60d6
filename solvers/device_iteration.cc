#include "solvers/device_iteration.h"

namespace cortado {

DeviceIteration::DeviceIteration(TrainState& state, Observers& observers)
    : Iteration(state, observers),
      device_(state.config.iteration, state.net, state.update.entries(), state.carried, state.share) {}

/// The device does not wait until the host has checked the loss, unless the rate depends on it. If the loss or a
/// gradient is not finite, the device skips this update and all later ones.
void DeviceIteration::run(int asked, bool looked_at) {
  const int64_t iter = begun();
  const bool verbose = config().displays(iter) && config().debug_info;
  if (state_.schedule.rate().wants_loss())
    run_after_loss(verbose, asked);
  else
    tell(iter, verbose, asked);
  if (looked_at || config().displays(iter) || !device_.runs_ahead()) see();
  count_time();
}

/// Submits an iteration, then reads the result of the previous one.
void DeviceIteration::tell(int64_t iter, bool verbose, int asked) {
  const StepRates rates = state_.next_rates(iter);
  try {
    device_.tell(iter, rates, verbose, asked);
  } catch (...) {
    see();  // an error of the previous iteration comes first
    throw;
  }
  add_to_average();
  see();
  in_flight_ = rates.rate;
}

void DeviceIteration::run_after_loss(bool verbose, int asked) {
  device_.run_passes(iter(), verbose, asked);
  const double loss = device_.state().loss;
  require_finite(loss);
  state_.take_loss(loss);
  device_.update(iter(), state_.next_rates(iter()));
  const StepState step = device_.seen(iter());
  requests_ |= step.requests;
  require_good(step);
  if (displays()) log_display();
  add_to_average();
  complete();
}

void DeviceIteration::update(const StepRates& rates) {
  device_.update(iter(), rates);
  require_good(device_.seen(iter()));
}

void DeviceIteration::see() {
  if (!in_flight_) return;
  state_.progress.rate = *in_flight_;  // may already be that of a later iteration
  in_flight_.reset();
  const StepState step = device_.seen(iter());
  requests_ |= step.requests;
  if (step.ends) device_.go_back(iter());
  require_good(step);
  state_.take_loss(step.loss);
  if (displays()) log_display();
  complete();
}

/// Throws Error(kDiverged).
void DeviceIteration::require_good(const StepState& step) {
  require_finite(step.loss);
  if (!step.finite_gradients && !device_.scales_loss()) throw_diverged("a gradient is not finite", kLearnLess);
  if (step.loss_scale <= kLeastLossScale)
    throw_diverged("no loss scale results in finite gradients", "use bf16, which has more range");
}

void DeviceIteration::save(caffe::TrainingState& training) {
  if (net_.context().precision != Precision::kFp16) return;
  const StepState step = device_.state();
  training.set_loss_scale(step.loss_scale);
  training.set_good_steps(step.good_steps);
  training.set_skipped_steps(step.skipped);
}

void DeviceIteration::load(const caffe::TrainingState& training) {
  if (!training.has_loss_scale()) return;
  StepState step;
  step.loss_scale = training.loss_scale();
  step.good_steps = training.good_steps();
  step.skipped = training.skipped_steps();
  device_.set_state(step);
}

}  // namespace cortado
