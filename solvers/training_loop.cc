#include "solvers/training_loop.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "solvers/rank_start.h"
#include "solvers/rank_test.h"

namespace cortado {

namespace {

constexpr const char* kLearnLess = "a smaller base_lr or clip_gradients may help";

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

TrainingLoop::TrainingLoop(TrainState& state, Evaluation& evaluation, Checkpointer& checkpoints, Observers& observers)
    : state_(state),
      net_(state.net),
      evaluation_(evaluation),
      checkpoints_(checkpoints),
      observers_(observers),
      outputs_(state.net) {}

Outcome TrainingLoop::run(Requests& requests) {
  requests_ = &requests;
  start();
  step(state_.progress.max_iter - iter());
  const bool early = stop_ || evaluation_.stops_early();
  if (early || config().snapshot_after_train()) checkpoints_.try_write();
  if (early)
    log_info() << "Optimization stopped early.";
  else
    finish();
  evaluation_.log_best();
  requests_ = &no_requests_;
  const Outcome outcome = stop_ ? Outcome::kStopped : early ? Outcome::kStoppedEarly : Outcome::kFinished;
  observers_.tell([&](TrainObserver& observer) { observer.on_end(state_.progress, outcome); });
  if (checkpoints_.failure()) throw *checkpoints_.failure();
  return outcome;
}

void TrainingLoop::start() {
  const Progress& progress = state_.progress;
  log_info() << "Solving " << net_.name();
  log_info() << "Learning Rate Policy: " << config().lr_policy();
  observers_.tell([&](TrainObserver& observer) { observer.on_start(progress); });
  if (const std::string& path = checkpoints_.resumed_from(); !path.empty())
    observers_.tell([&](TrainObserver& observer) { observer.on_resume(progress, path); });
  observers_.tell_early_warnings(progress);
}

/// The loss after the last update, and the last test.
void TrainingLoop::finish() {
  if (displays()) {
    net_.context().pass = state_.pass(0);
    net_.forward();
    state_.window.add(float(net_.loss()));
    log_info() << "Iteration " << iter() << ", loss = " << Shown{state_.window.smoothed()};
  }
  if (config().test_interval() > 0 && iter() % config().test_interval() == 0) test();
  if (!stop_) log_info() << "Optimization Done.";
}

bool TrainingLoop::step(int64_t iterations) {
  stop_ = false;
  evaluation_.begin();
  shown_seconds_ = clock_seconds();
  shown_iter_ = iter();
  for (const int64_t end = iter() + iterations; iter() < end && !stop_;) {
    if (evaluation_.is_due() && !test()) break;
    if (evaluation_.stops_early()) break;
    iterate();
    take_requests();
    if (config().snapshot() > 0 && iter() % config().snapshot() == 0) snapshot();
  }
  return !stop_ && !evaluation_.stops_early();
}

/// The weights have come from many sums by now, which is the time to see that all ranks have the same.
void TrainingLoop::snapshot() {
  if (state_.share.engine) compare_weights(*state_.share.engine, net_, iter());
  checkpoints_.try_write();
}

bool TrainingLoop::test() {
  RankTest ranks(state_, evaluation_);
  if (!state_.share.is_first()) {
    stop_ = ranks.follow([this] { checkpoints_.try_write(); });
    return !stop_;
  }
  const auto snapshot = [&] {
    ranks.begin_snapshot();
    checkpoints_.try_write();
  };
  const auto continues = [&] {
    ranks.go_on();
    obey(requests_->exchange(kRequestNothing), snapshot);
    return !stop_;
  };
  const bool whole = evaluation_.run({continues, snapshot});
  ranks.end(stop_);
  return whole;
}

/// Ranks obey what any of them was asked for by the end of an iteration's passes.
void TrainingLoop::take_requests() {
  obey(state_.share.engine ? std::exchange(agreed_, kRequestNothing) : requests_->exchange(kRequestNothing),
       [this] { checkpoints_.try_write(); });
}

void TrainingLoop::obey(int asked, const std::function<void()>& snapshot) {
  if (asked & kRequestSnapshot) snapshot();
  if (asked & kRequestStop) stop_ = true;
}

void TrainingLoop::iterate() {
  Progress& progress = state_.progress;
  const double begin = clock_seconds(), waited = net_.wait_seconds();
  const bool display = displays();
  net_.set_debug_info(display && config().debug_info());
  state_.device ? iterate_on_device(display) : iterate_on_cpu(display);
  net_.set_debug_info(false);
  if (state_.average) state_.average->add();
  ++progress.iter;
  progress.seconds += clock_seconds() - begin;
  progress.wait_seconds += net_.wait_seconds() - waited;
  observers_.tell([&](TrainObserver& observer) { observer.on_iteration(progress); });
}

/// Where all gradients are needed together they have memory of their own; else the update is a part of backward, and
/// what is logged of this iteration comes after it.
void TrainingLoop::iterate_on_cpu(bool display) {
  if (state_.shards) return iterate_shards(display);
  const bool within_backward = updates_within_backward(config(), net_.context());
  state_.take_loss(within_backward ? forward_finite(0) : forward_backward());
  const StepRates rates = state_.next_rates();
  if (within_backward) state_.update.backward_and_apply(iter(), rates);
  if (display) log_display();
  if (!within_backward) state_.update.apply(iter(), rates, display);
}

/// The device does not wait for the host to look at the loss, unless the rate depends on it: where it is not finite, or
/// a gradient is not, the device has updated nothing.
void TrainingLoop::iterate_on_device(bool display) {
  const bool verbose = display && config().debug_info(), waits = state_.schedule.rate().wants_loss();
  const StepState step =
      waits ? step_after_loss(verbose) : state_.device->iterate(iter(), state_.next_rates(), verbose);
  require_finite(step.loss);
  if (!step.finite_gradients && !state_.device->scales_loss()) throw_diverged("a gradient is not finite", kLearnLess);
  if (step.loss_scale <= kLeastLossScale)
    throw_diverged("no scale of the loss gives finite gradients", "bf16 has more range");
  if (!waits) state_.take_loss(step.loss);
  if (display) log_display();
}

StepState TrainingLoop::step_after_loss(bool verbose) {
  state_.device->run_passes(iter(), verbose);
  const double loss = state_.device->state().loss;
  require_finite(loss);
  state_.take_loss(loss);
  return state_.device->update(iter(), state_.next_rates());
}

/// Gradients of iter_size batches, added up, and the mean of their losses.
double TrainingLoop::forward_backward() {
  double sum = 0;
  for (int k = 0; k < config().iter_size(); ++k) {
    sum += forward_finite(k);
    net_.backward(k > 0);
  }
  return sum / config().iter_size();
}

/// The loss is looked at when all ranks have that of all shards, so that all of them go on or none does.
void TrainingLoop::iterate_shards(bool display) {
  const int asked = state_.share.engine ? requests_->exchange(kRequestNothing) : kRequestNothing;
  const ShardOutcome outcome = state_.shards->forward(state_.pass(0), asked);
  agreed_ = outcome.requests;
  require_finite(outcome.loss);
  state_.take_loss(outcome.loss);
  state_.shards->backward_and_apply(iter(), state_.next_rates(), display);
  if (display) log_display();
}

/// The loss of the k-th batch of this iteration. Throws Error(kDiverged), so that no weight learns from it.
double TrainingLoop::forward_finite(int k) {
  net_.context().pass = state_.pass(k);
  net_.forward();
  const double loss = net_.loss();
  require_finite(loss);
  return loss;
}

void TrainingLoop::require_finite(double loss) {
  if (std::isfinite(loss)) return;
  state_.progress.loss = loss;
  throw_diverged("the loss is " + std::string(std::isnan(loss) ? "nan" : "inf"), kLearnLess);
}

void TrainingLoop::throw_diverged(const std::string& what, const std::string& hint) {
  const std::string where = net_.first_not_finite();
  const int64_t good = checkpoints_.newest();
  const std::string text = "training diverged at iteration " + std::to_string(iter()) + ": " + what +
                           (where.empty() ? "" : "; first in " + where) +
                           (good >= 0 ? "; the snapshot of iteration " + std::to_string(good) + " is good" : "");
  observers_.tell([&](TrainObserver& observer) { observer.on_diverged(state_.progress, text); });
  throw Error(ExitCode::kDiverged, text, hint);
}

void TrainingLoop::log_display() {
  const Progress& progress = state_.progress;
  const double now = clock_seconds(), lapse = now - shown_seconds_;
  log_info() << "Iteration " << iter() << " (" << float(double(iter() - shown_iter_) / (lapse > 0 ? lapse : 1))
             << " iter/s, " << float(lapse) << "s/" << config().display()
             << " iters), loss = " << Shown{progress.smoothed_loss};
  shown_seconds_ = now;
  shown_iter_ = iter();
  log_scores("Train", outputs_.read());
  log_info() << "Iteration " << iter() << ", lr = " << progress.rate;
  observers_.tell([&](TrainObserver& observer) { observer.on_display(progress, outputs_.scores()); });
}

}  // namespace cortado
