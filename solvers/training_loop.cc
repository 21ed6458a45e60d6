#include "solvers/training_loop.h"

#include "core/device/device_memory.h"
#include "core/error.h"
#include "core/log.h"
#include "solvers/rank_start.h"
#include "solvers/rank_test.h"

namespace cortado {

namespace {

/// Allows a forward pass for its loss only: restores the state of layers, such as BatchNorm's statistics or what LSTM
/// carries, at the end of its lifetime.
class StateGuard {
 public:
  explicit StateGuard(Net& net) : context_(net.context()) {
    for (const KeptWeight& kept : net.kept_weights()) keep({kept.values, size_t(kept.count)});
    for (const CarriedValues& carried : net.carried_values()) keep(carried.values);
  }
  ~StateGuard() {
    for (size_t i = 0; i < places_.size(); ++i)
      copy_on_device(context_, places_[i].data(), copies_[i].data(), copies_[i].bytes());
    synchronize(context_);  // before the memory of the copies is freed
  }
  StateGuard(const StateGuard&) = delete;
  StateGuard& operator=(const StateGuard&) = delete;

 private:
  void keep(std::span<float> values) {
    const DeviceMemory& copy = copies_.emplace_back(context_, values.size_bytes());
    copy_on_device(context_, copy.data(), values.data(), copy.bytes());
    places_.push_back(values);
  }

  Context& context_;
  std::vector<std::span<float>> places_;
  std::vector<DeviceMemory> copies_;
};

/// 0 if snapshot_every is not set.
std::chrono::steady_clock::duration duration_of(const std::string& every) {
  using std::chrono::duration, std::chrono::duration_cast, std::chrono::steady_clock;
  return duration_cast<steady_clock::duration>(duration<double>(every.empty() ? 0 : seconds_of_interval(every)));
}

}  // namespace

TrainingLoop::TrainingLoop(TrainState& state, Iteration& iteration, Evaluation& evaluation, Checkpointer& checkpoints,
                           Observers& observers)
    : state_(state),
      net_(state.net),
      iteration_(iteration),
      evaluation_(evaluation),
      checkpoints_(checkpoints),
      observers_(observers),
      snapshot_every_(duration_of(state.config.snapshots.every)) {}

Outcome TrainingLoop::run(Requests& requests) {
  requests_ = &requests;
  start();
  step(state_.progress.max_iter - iter());
  const bool early = stop_ || evaluation_.stops_early();
  if (early || config().snapshots.at_end) checkpoints_.try_write();
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
  observers_.tell([&](TrainObserver& observer) { observer.on_start(progress, evaluation_.scores()); });
  if (const std::string& path = checkpoints_.resumed_from(); !path.empty())
    observers_.tell([&](TrainObserver& observer) { observer.on_resume(progress, path); });
  observers_.tell_early_warnings(progress);
}

/// Computes the loss after the last update, and runs the last test. A snapshot may follow: nothing of the state moves.
/// Both use the saved weights, although a training pass changes the state of layers, on each rank with its own images.
/// A loss that is not finite fails, although it is too late to save the training: its weights are of no use.
void TrainingLoop::finish() {
  const auto positions = net_.positions();
  {
    const StateGuard kept(net_);
    net_.context().pass = state_.pass(0);
    net_.forward();
    const double loss = net_.loss();
    if (config().displays(iter())) {
      LossWindow window = state_.window;
      window.add(float(loss));
      log_info() << "Iteration " << iter() << ", loss = " << Shown{window.smoothed()};
    }
    iteration_.require_finite(loss);
  }
  for (const auto& [layer, position] : positions) net_.seek(layer, position);
  state_.prove_snapshot();
  checkpoints_.prune_proven();
  if (config().tests.is_due_at_end(iter())) test();
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
  iteration_.begin_display();
  end_ = iter() + iterations;
  while (iteration_.begun() < end_ && !stop_) {
    if (!iteration_.is_unseen() && evaluation_.is_due(iter()) && !test()) break;
    if (evaluation_.stops_early()) break;
    poll_snapshot_timer();
    const int asked = state_.share.shares_requests() ? requests_->exchange(kRequestNothing) : kRequestNothing;
    iteration_.iterate(asked, is_looked_after(iteration_.begun() + 1));
    checkpoints_.prune_proven();
    take_requests();
    if (!iteration_.is_unseen() && config().snapshots.is_due(iter())) snapshot();
  }
  return !stop_ && !evaluation_.stops_early();
}

/// Whether something needs the state after `done` iterations, before the next one.
bool TrainingLoop::is_looked_after(int64_t done) const {
  return done == end_ || config().snapshots.is_due(done) || evaluation_.is_due(done);
}

/// Requests a snapshot if it is due by time. It is sent to the ranks like any other request, so that all of them write
/// the same snapshots.
void TrainingLoop::poll_snapshot_timer() {
  if (!state_.share.is_first() || snapshot_every_ == Clock::duration::zero()) return;
  const Clock::time_point now = Clock::now();
  if (now - clocked_ < snapshot_every_) return;
  clocked_ = now;
  requests_->fetch_or(kRequestSnapshot);
}

/// Also compares the weights of all ranks, which result from many sums by now.
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

/// Every rank follows the requests that any rank had received by the end of an iteration's passes.
void TrainingLoop::take_requests() {
  const bool shared = state_.share.shares_requests();
  const int asked = shared ? iteration_.take_requests() : requests_->exchange(kRequestNothing);
  if (asked != kRequestNothing) iteration_.see();
  obey(asked, [this] { checkpoints_.try_write(); });
}

void TrainingLoop::obey(int asked, const std::function<void()>& snapshot) {
  if (asked & kRequestSnapshot) snapshot();
  if (asked & kRequestStop) stop_ = true;
}

}  // namespace cortado
