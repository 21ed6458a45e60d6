#include "solvers/training_loop.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "solvers/kept_aside.h"
#include "solvers/rank_start.h"
#include "solvers/rank_test.h"

namespace cortado {

namespace {

constexpr const char* kLearnLess = "a smaller base_lr or clip_gradients may help";

/// Hands gradients on to the observers that want them.
class GradientTeller : public GradientReader {
 public:
  GradientTeller(const Observers& observers, const Progress& progress) : observers_(observers), progress_(progress) {}

  bool is_wanted(int64_t iter) {
    bool wanted = false;
    observers_.tell([&](TrainObserver& observer) { wanted = wanted || observer.wants_gradients(iter); });
    return wanted;
  }
  void on_complete(size_t param) override {
    observers_.tell([&](TrainObserver& observer) {
      if (observer.wants_gradients(progress_.iter)) observer.on_gradient(progress_, param);
    });
  }

 private:
  const Observers& observers_;
  const Progress& progress_;
};

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
      outputs_(state.net),
      snapshot_clock_(state.config.snapshot_every()) {}

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

/// The loss after the last update, and the last test: of the weights that were saved, also where a pass in training
/// changes BatchNorm's statistics, on each rank by images of its own.
void TrainingLoop::finish() {
  if (displays(iter())) {
    const KeptAside kept(net_);
    net_.context().pass = state_.pass(0);
    net_.forward();
    state_.window.add(float(net_.loss()));
    log_info() << "Iteration " << iter() << ", loss = " << Shown{state_.window.smoothed()};
  }
  if (config().test_interval() > 0 && iter() % config().test_interval() == 0) test();
  if (!stop_) log_info() << "Optimization Done.";
}

bool TrainingLoop::step(int64_t iterations, Requests& requests) {
  const struct Heed {
    TrainingLoop& loop;
    ~Heed() { loop.requests_ = &loop.no_requests_; }
  } heed{*this};
  requests_ = &requests;
  return step(iterations);
}

bool TrainingLoop::step(int64_t iterations) {
  stop_ = false;
  evaluation_.begin();
  shown_seconds_ = clock_seconds();
  shown_iter_ = iter();
  end_ = iter() + iterations;
  while (begun() < end_ && !stop_) {
    if (!unseen_ && evaluation_.is_due(iter()) && !test()) break;
    if (evaluation_.stops_early()) break;
    heed_clock();
    iterate();
    take_requests();
    if (!unseen_ && snapshot_is_due(iter())) snapshot();
  }
  return !stop_ && !evaluation_.stops_early();
}

/// Ranks hear of it as of any request, so that all of them write the same snapshots.
void TrainingLoop::heed_clock() {
  if (state_.share.is_first() && snapshot_clock_.is_due()) requests_->fetch_or(kRequestSnapshot);
}

/// The weights have come from many sums by now, which is the time to see that all ranks have the same.
void TrainingLoop::snapshot() {
  if (state_.share.engine) compare_weights(*state_.share.engine, net_, iter());
  checkpoints_.try_write();
}

bool TrainingLoop::test() {
  RankTest ranks(state_, evaluation_, *requests_);
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
  const bool whole = evaluation_.run({continues, snapshot, &ranks});
  ranks.end(stop_);
  return whole;
}

/// What other ranks are to be told with the next iteration's passes.
int TrainingLoop::own_requests() {
  return state_.share.shares_requests() ? requests_->exchange(kRequestNothing) : kRequestNothing;
}

/// Ranks obey what any of them was asked for by the end of an iteration's passes.
void TrainingLoop::take_requests() {
  const int asked =
      state_.share.shares_requests() ? std::exchange(agreed_, kRequestNothing) : requests_->exchange(kRequestNothing);
  if (asked != kRequestNothing && unseen_) {
    begin_time();
    see();
  }
  obey(asked, [this] { checkpoints_.try_write(); });
}

void TrainingLoop::obey(int asked, const std::function<void()>& snapshot) {
  if (asked & kRequestSnapshot) snapshot();
  if (asked & kRequestStop) stop_ = true;
}

void TrainingLoop::begin_time() {
  began_ = clock_seconds();
  waited_ = net_.wait_seconds();
}

/// What passed since begin_time(), or since this was called, was training's.
void TrainingLoop::count_time() {
  Progress& progress = state_.progress;
  const double began = began_, waited = waited_;
  begin_time();
  progress.seconds += began_ - began;
  progress.wait_seconds += waited_ - waited;
}

/// An iteration is done and seen.
void TrainingLoop::complete() {
  ++state_.progress.iter;
  count_time();
  observers_.tell([&](TrainObserver& observer) { observer.on_iteration(state_.progress); });
}

void TrainingLoop::iterate() {
  begin_time();
  state_.device ? iterate_on_device() : iterate_on_cpu();
}

/// Where all gradients are needed together they have memory of their own; else the update is a part of backward, and
/// what is logged of this iteration comes after it.
void TrainingLoop::iterate_on_cpu() {
  if (state_.local) return iterate_local_steps();
  if (state_.shards) return iterate_shards();
  const graph::BuildOptions& built = net_.plan().graph.options;
  const bool display = displays(iter()), within_backward = built.transient_gradients;
  net_.set_debug_info(display && config().debug_info());
  state_.take_loss(within_backward ? forward_finite(0) : forward_backward());
  if (built.observed) observers_.tell([&](TrainObserver& observer) { observer.on_gradients(state_.progress); });
  const StepRates rates = state_.next_rates(iter());
  GradientTeller teller(observers_, state_.progress);
  GradientReader* const reader = teller.is_wanted(iter()) ? &teller : nullptr;
  if (within_backward) state_.update.backward_and_apply(iter(), rates, reader);
  if (!within_backward && reader)
    for (size_t p = 0; p < net_.params().size(); ++p) reader->on_complete(p);
  if (display) log_display();
  if (!within_backward) state_.update.apply(iter(), rates, display);
  net_.set_debug_info(false);
  if (state_.average) state_.average->add();
  complete();
}

void TrainingLoop::apply_update() {
  if (net_.plan().graph.options.transient_gradients) throw_internal("gradients that are gone before the update");
  if (state_.share.shards > 1)
    throw Error(ExitCode::kUsage, "an update by passes of your own is for one shard, and the solver has " +
                                      std::to_string(state_.share.shards));
  begin_time();
  state_.take_loss(net_.loss());
  const StepRates rates = state_.next_rates(iter());
  if (state_.device) {
    state_.device->update(iter(), rates);
    require_good(state_.device->seen(iter()));
  } else {
    state_.update.apply(iter(), rates, displays(iter()));
  }
  if (state_.average) state_.average->add();
  complete();
}

/// Whether something looks at what this iteration made before there may be another one.
bool TrainingLoop::looks_after(int64_t iter) const {
  const int64_t done = iter + 1;
  return displays(iter) || done == end_ || snapshot_is_due(done) || evaluation_.is_due(done) ||
         !state_.device->runs_ahead();
}

/// The device does not wait for the host to look at the loss, unless the rate depends on it: where it is not finite, or
/// a gradient is not, the device has updated nothing, in a later iteration neither.
void TrainingLoop::iterate_on_device() {
  const int64_t iter = begun();
  const bool verbose = displays(iter) && config().debug_info();
  if (verbose) see();
  net_.set_debug_info(verbose);
  if (state_.schedule.rate().wants_loss())
    iterate_after_loss(verbose);
  else
    tell_device(iter, verbose);
  net_.set_debug_info(false);
  if (looks_after(iter)) see();
  count_time();
}

/// Then sees the one before.
void TrainingLoop::tell_device(int64_t iter, bool verbose) {
  const StepRates rates = state_.next_rates(iter);
  try {
    state_.device->tell(iter, rates, verbose, own_requests());
  } catch (...) {
    see();  // a fault of the iteration before comes first
    throw;
  }
  if (state_.average) state_.average->add();
  see();
  unseen_ = rates.rate;
}

void TrainingLoop::iterate_after_loss(bool verbose) {
  state_.device->run_passes(iter(), verbose, own_requests());
  const double loss = state_.device->state().loss;
  require_finite(loss);
  state_.take_loss(loss);
  state_.device->update(iter(), state_.next_rates(iter()));
  const StepState step = state_.device->seen(iter());
  agreed_ |= step.requests;
  require_good(step);
  if (displays(iter())) log_display();
  if (state_.average) state_.average->add();
  complete();
}

/// Waits for the iteration that is unseen, if there is one, and takes in what became of it.
void TrainingLoop::see() {
  if (!unseen_) return;
  state_.progress.rate = *unseen_;  // of a later one by now, perhaps
  unseen_.reset();
  const StepState step = state_.device->seen(iter());
  agreed_ |= step.requests;
  if (step.ends) state_.device->go_back(iter());
  require_good(step);
  state_.take_loss(step.loss);
  if (displays(iter())) log_display();
  complete();
}

/// Throws Error(kDiverged).
void TrainingLoop::require_good(const StepState& step) {
  require_finite(step.loss);
  if (!step.finite_gradients && !state_.device->scales_loss()) throw_diverged("a gradient is not finite", kLearnLess);
  if (step.loss_scale <= kLeastLossScale)
    throw_diverged("no scale of the loss gives finite gradients", "bf16 has more range");
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
void TrainingLoop::iterate_shards() {
  const bool display = displays(iter());
  net_.set_debug_info(display && config().debug_info());
  const ShardOutcome outcome = state_.shards->forward(state_.pass(0), own_requests());
  agreed_ = outcome.requests;
  require_finite(outcome.loss);
  state_.take_loss(outcome.loss);
  state_.shards->backward_and_apply(iter(), state_.next_rates(iter()), display);
  if (display) log_display();
  net_.set_debug_info(false);
  if (state_.average) state_.average->add();
  complete();
}

/// As with gradients of shards; but each shard's weights have learned by the time that the losses are looked at.
void TrainingLoop::iterate_local_steps() {
  const bool display = displays(iter());
  net_.set_debug_info(display && config().debug_info());
  const int asked = state_.share.engine ? requests_->exchange(kRequestNothing) : kRequestNothing;
  const ShardOutcome outcome = state_.local->run(iter(), state_.pass(0), state_.next_rates(iter()), asked, display);
  net_.set_debug_info(false);
  agreed_ = outcome.requests;
  require_finite(outcome.loss);
  state_.take_loss(outcome.loss);
  state_.local->finish();
  if (display) log_display();
  if (state_.average) state_.average->add();
  complete();
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
