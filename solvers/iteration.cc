#include "solvers/iteration.h"

#include <chrono>
#include <cmath>

#include "core/error.h"
#include "core/log.h"
#include "solvers/device_iteration.h"
#include "solvers/local_steps.h"
#include "solvers/rank_message.h"
#include "solvers/shard_training.h"

namespace cortado {

namespace {

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Which of the snapshots can be resumed from. Weights from which the first loss is not finite are of no use.
std::string snapshots_text(int64_t proven, int64_t newest) {
  const std::string good = proven >= 0 ? "; the snapshot of iteration " + std::to_string(proven) + " is good" : "";
  const std::string bad = "the snapshot of iteration " + std::to_string(newest) + " is not: it has these weights";
  return newest > proven ? good + (good.empty() ? "; " : ", ") + bad : good;
}

/// Forwards gradients to the observers that request them.
class GradientForwarder : public GradientReader {
 public:
  GradientForwarder(const Observers& observers, const Progress& progress)
      : observers_(observers), progress_(progress) {}

  bool is_wanted() {
    bool wanted = false;
    observers_.tell([&](TrainObserver& observer) { wanted = wanted || observer.wants_gradients(progress_.iter); });
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

/// One shard on the CPU.
class PlainIteration : public Iteration {
 public:
  using Iteration::Iteration;

 private:
  /// If all gradients are needed together they have their own memory. Otherwise the update is part of backward, and
  /// this iteration's log lines follow the update.
  void run(int /*asked*/, bool /*looked_at*/) override {
    const graph::BuildOptions& built = net_.plan().graph.options;
    const bool display = displays(), within_backward = built.transient_gradients;
    state_.take_loss(within_backward ? forward(0) : forward_backward());
    if (built.observed) observers_.tell([&](TrainObserver& observer) { observer.on_gradients(state_.progress); });
    const StepRates rates = state_.next_rates(iter());
    GradientForwarder teller(observers_, state_.progress);
    GradientReader* const reader = teller.is_wanted() ? &teller : nullptr;
    if (within_backward) state_.update.backward_and_apply(iter(), rates, reader);
    if (!within_backward && reader)
      for (size_t p = 0; p < net_.params().size(); ++p) reader->on_complete(p);
    if (display) log_display();
    if (!within_backward) state_.update.apply(iter(), rates, display);
    add_to_average();
    complete();
  }

  /// The loss of batch k of this iteration. Throws Error(kDiverged) before any weight learns from a loss that is not
  /// finite.
  double forward(int k) {
    net_.context().pass = state_.pass(k);
    net_.forward();
    const double loss = net_.loss();
    require_finite(loss);
    return loss;
  }

  /// Sums the gradients of iter_size batches and returns the mean of their losses.
  double forward_backward() {
    const int batches = config().iteration.iter_size;
    double sum = 0;
    for (int k = 0; k < batches; ++k) {
      sum += forward(k);
      net_.backward(k > 0);
    }
    return sum / batches;
  }
};

}  // namespace

Iteration::Iteration(TrainState& state, Observers& observers)
    : state_(state), net_(state.net), observers_(observers), outputs_(state.net) {}

void Iteration::iterate(int asked, bool looked_at) {
  begin_time();
  const bool verbose = config().displays(begun()) && config().debug_info;
  if (verbose) see();
  net_.set_debug_info(verbose);
  run(asked, looked_at);
  state_.carried.select(0);
  net_.set_debug_info(false);
}

void Iteration::apply_update() {
  if (net_.plan().graph.options.transient_gradients) throw_internal("gradients that are gone before the update");
  if (state_.share.shards > 1)
    throw Error(ExitCode::kUsage,
                "apply_update() needs one shard, but the solver has " + std::to_string(state_.share.shards));
  begin_time();
  state_.take_loss(net_.loss());
  update(state_.next_rates(iter()));
  add_to_average();
  complete();
}

void Iteration::update(const StepRates& rates) { state_.update.apply(iter(), rates, displays()); }

void Iteration::gather_histories() {
  if (!state_.update.is_sliced()) return;
  state_.update.gather(*state_.share.engine, slices_of_ranks(net_, state_.share.ranks()), kFirstRank);
}

void Iteration::share_histories() {
  WeightUpdate& update = state_.update;
  ranks::Engine& engine = *state_.share.engine;
  if (!update.is_sliced()) return broadcast_floats(engine, net_.context(), update.history_memory());
  if (state_.share.is_first() && update.history_memory().empty()) update.make_whole();
  update.scatter(engine, slices_of_ranks(net_, engine.ranks()), kFirstRank);
  update.drop_whole();
}

void Iteration::begin_time() {
  began_ = clock_seconds();
  waited_ = net_.wait_seconds();
}

void Iteration::count_time() {
  Progress& progress = state_.progress;
  const double began = began_, waited = waited_;
  begin_time();
  progress.seconds += began_ - began;
  progress.wait_seconds += waited_ - waited;
}

void Iteration::add_to_average() {
  if (state_.average) state_.average->add();
}

void Iteration::complete() {
  ++state_.progress.iter;
  count_time();
  observers_.tell([&](TrainObserver& observer) { observer.on_iteration(state_.progress); });
}

void Iteration::require_finite(double loss) {
  if (std::isfinite(loss)) return;
  state_.progress.loss = loss;
  throw_diverged("the loss is " + std::string(std::isnan(loss) ? "nan" : "inf"), kLearnLess);
}

/// What to correct. A rate is not to blame for what was NaN before it had any effect.
std::string Iteration::cause_of(const NotFinite& first, const std::string& hint) const {
  if (first.in == NotFinite::In::kData) return "correct or remove the data: " + first.record;
  if (first.in == NotFinite::In::kWeight && iter() == state_.progress.start_iter)
    return "the training began with this weight: check the files of weights and the net's fillers";
  return hint;
}

void Iteration::throw_diverged(const std::string& what, const std::string& hint) {
  const NotFinite first = net_.first_not_finite();
  const std::string text = "training diverged at iteration " + std::to_string(iter()) + ": " + what +
                           (first.where.empty() ? "" : "; first in " + first.where) +
                           snapshots_text(state_.proven_snapshot, state_.newest_snapshot);
  observers_.tell([&](TrainObserver& observer) { observer.on_diverged(state_.progress, text); });
  throw Error(ExitCode::kDiverged, text, cause_of(first, hint));
}

void Iteration::begin_display() {
  shown_seconds_ = clock_seconds();
  shown_iter_ = iter();
}

void Iteration::log_display() {
  const Progress& progress = state_.progress;
  const double before = shown_seconds_;
  const int64_t iterations = iter() - shown_iter_;
  begin_display();
  const double lapse = shown_seconds_ - before;
  log_info() << "Iteration " << iter() << " (" << float(double(iterations) / (lapse > 0 ? lapse : 1)) << " iter/s, "
             << float(lapse) << "s/" << config().display << " iters), loss = " << Shown{progress.smoothed_loss};
  log_scores("Train", outputs_.read());
  log_info() << "Iteration " << iter() << ", lr = " << progress.rate;
  observers_.tell([&](TrainObserver& observer) { observer.on_display(progress, outputs_.scores()); });
}

std::unique_ptr<Iteration> make_iteration(TrainState& state, Observers& observers) {
  if (!state.net.context().shares_host_memory()) return std::make_unique<DeviceIteration>(state, observers);
  if (state.config.iteration.local_steps > 1) return std::make_unique<LocalSteps>(state, observers);
  if (state.share.shards > 1) return std::make_unique<ShardTraining>(state, observers);
  return std::make_unique<PlainIteration>(state, observers);
}

}  // namespace cortado
