#include "solvers/solver.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>

#include "core/error.h"
#include "core/log.h"
#include "net/epoch.h"
#include "solvers/check.h"

namespace cortado {

namespace {

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

SolverFile checked(SolverFile file) {
  Mistakes mistakes;
  check_solver(file, mistakes);
  mistakes.throw_if_any(ExitCode::kNet);
  return file;
}

/// The identity of a training that starts now.
std::string new_run() {
  std::random_device random;
  char text[17];
  std::snprintf(text, sizeof text, "%08x%08x", random(), random());
  return text;
}

bool wants_snapshots(const caffe::SolverParameter& config) {
  return config.snapshot() > 0 || config.snapshot_after_train();
}

}  // namespace

Solver::Solver(SolverFile file, const SolverOptions& options, Context& context)
    : file_(checked(std::move(file))),
      context_(context),
      schedule_(file_.solver),
      window_(file_.solver.average_loss()) {
  log_info() << "Initializing solver from parameters: \n" << config().DebugString();
  if (!options.snapshot.empty() && !options.weights.empty())
    throw Error(ExitCode::kUsage, "--snapshot and --weights exclude each other",
                "a snapshot brings its weights; --weights starts a new training from them");
  for (const Mistake& warning : solver_warnings(file_))
    warn((warning.place.known() ? warning.place.str() + ": " : "") + warning.message +
         (warning.hint.empty() ? "" : "; " + warning.hint));
  const std::string& prefix = config().snapshot_prefix();
  if (wants_snapshots(config())) lock_.emplace(prefix);
  std::optional<Snapshot> snapshot;
  if (!options.snapshot.empty()) snapshot = find_snapshot(options.snapshot, prefix);
  choose_seed(snapshot);
  if (snapshot && snapshot->exact()) remember_kernels(snapshot->state.training());
  if (!snapshot) started_from_ = starting_weights(file_, options);
  at_its_field([&] { nets_ = make_solver_nets(file_, options, context_); });
  if (config().max_epoch() > 0) at_its_field([&] { set_max_iter(max_iter_of_epochs(config(), net())); });
  load_starting_weights(started_from_, nets_);
  if (!options.freeze.empty() && started_from_.empty() && !snapshot)
    warn("layers are frozen, and no weights are given: they stay what their fillers made of them");
  outputs_ = std::make_unique<OutputReader>(net());
  at_its_field([&] { make_testers(); });
  update_.emplace(config(), net());
  if (config().ema_decay() > 0) average_.emplace(config(), net());
  if (!context_.device.is_cpu()) device_.emplace(config(), update_->rule(), net(), update_->entries());
  progress_.max_iter = config().max_iter();
  progress_.images_per_iter = net().batch_size() * config().iter_size();
  run_ = new_run();
  progress_.records = records_if_known(net().plan().graph);
  if (snapshot) restore(*snapshot);
  progress_.start_iter = progress_.iter;
  check_space();
  if (lock_) claim_prefix();
  log_info() << "Solver scaffolding done.";
}

Solver::~Solver() = default;

/// Some mistakes show only once the nets are there.
template <typename Work>
auto Solver::at_its_field(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const FieldError& error) {
    throw Error(ExitCode::kNet, mistake_at(file_, error));
  }
}

void Solver::set_max_iter(int max_iter) {
  file_.solver.set_max_iter(max_iter);
  log_info() << "max_epoch: " << config().max_epoch() << " takes max_iter: " << max_iter;
  checked_lr_policy(config());
}

int64_t Solver::memory_bytes() const {
  return nets_.train->memory_bytes() + update_->history_bytes() + (average_ ? average_->bytes() : 0);
}

void Solver::warn(const std::string& text) {
  log_warning() << text;
  if (observers_.empty()) early_warnings_.push_back(text);
  tell([&](TrainObserver& observer) { observer.on_warning(progress_, text); });
}

Outcome Solver::run(Requests& requests) {
  requests_ = &requests;
  log_info() << "Solving " << net().name();
  log_info() << "Learning Rate Policy: " << config().lr_policy();
  tell([&](TrainObserver& observer) { observer.on_start(progress_); });
  if (!resumed_from_.empty()) tell([&](TrainObserver& observer) { observer.on_resume(progress_, resumed_from_); });
  for (const std::string& text : early_warnings_)
    tell([&](TrainObserver& observer) { observer.on_warning(progress_, text); });
  early_warnings_.clear();
  step(progress_.max_iter - progress_.iter);
  const bool early = stop_ || stops_early_;
  if (early || config().snapshot_after_train()) try_snapshot();
  if (early)
    log_info() << "Optimization stopped early.";
  else
    finish();
  if (early_stop_) say_best();
  requests_ = &no_requests_;
  const Outcome outcome = stop_ ? Outcome::kStopped : early ? Outcome::kStoppedEarly : Outcome::kFinished;
  tell([&](TrainObserver& observer) { observer.on_end(progress_, outcome); });
  if (failed_snapshot_) throw *failed_snapshot_;
  return outcome;
}

/// The loss after the last update, and the last test.
void Solver::finish() {
  if (config().display() > 0 && iter() % config().display() == 0) {
    forward(uint64_t(iter()) * uint64_t(config().iter_size()));
    window_.add(float(net().loss()));
    log_info() << "Iteration " << iter() << ", loss = " << Shown{window_.smoothed()};
  }
  if (config().test_interval() > 0 && iter() % config().test_interval() == 0) test_all();
  if (!stop_) log_info() << "Optimization Done.";
}

bool Solver::step(int64_t iterations) {
  stop_ = stops_early_ = false;
  before_test_.reset();
  shown_seconds_ = clock_seconds();
  shown_iter_ = iter();
  for (const int64_t end = iter() + iterations; iter() < end && !stop_;) {
    if (is_test_due() && !test_all()) break;
    if (stops_early_) break;
    iterate();
    take_requests();
    if (config().snapshot() > 0 && iter() % config().snapshot() == 0) try_snapshot();
  }
  return !stop_ && !stops_early_;
}

bool Solver::is_test_due() const {
  return config().test_interval() > 0 && iter() % config().test_interval() == 0 &&
         (iter() > 0 || config().test_initialization());
}

void Solver::iterate() {
  const double begin = clock_seconds(), waited = net().wait_seconds();
  const bool display = config().display() > 0 && iter() % config().display() == 0;
  net().set_debug_info(display && config().debug_info());
  device_ ? iterate_on_device(display) : iterate_on_cpu(display);
  net().set_debug_info(false);
  if (average_) average_->add();
  ++progress_.iter;
  progress_.seconds += clock_seconds() - begin;
  progress_.wait_seconds += net().wait_seconds() - waited;
  tell([&](TrainObserver& observer) { observer.on_iteration(progress_); });
}

void Solver::take_loss(double loss) {
  progress_.loss = loss;
  window_.add(float(loss));
  progress_.smoothed_loss = window_.smoothed();
}

StepRates Solver::next_rates() {
  const StepRates rates = schedule_.next(iter(), progress_.smoothed_loss);
  progress_.rate = rates.rate;
  return rates;
}

/// Gradients have memory of their own only where somebody wants to see them together; else the update is a part of
/// backward, and all that is logged of this iteration comes after it.
void Solver::iterate_on_cpu(bool display) {
  const bool within_backward = updates_within_backward(config(), context_.device);
  const double loss = within_backward ? forward_finite(0) : forward_backward();
  take_loss(loss);
  const StepRates rates = next_rates();
  if (within_backward) update_->backward_and_apply(iter(), rates);
  if (display) log_display();
  if (!within_backward) update_->apply(iter(), rates, display);
}

/// The device does not wait for the host to look at the loss, unless the rate depends on it: where it is not finite,
/// the device has updated nothing.
void Solver::iterate_on_device(bool display) {
  const bool verbose = display && config().debug_info();
  const StepState state =
      schedule_.rate().wants_loss() ? step_after_loss(verbose) : device_->iterate(iter(), next_rates(), verbose);
  require_finite(state.loss);
  if (state.loss_scale <= kLeastLossScale)
    throw_diverged("no scale of the loss gives finite gradients", "bf16 has more range");
  if (!schedule_.rate().wants_loss()) take_loss(state.loss);
  if (display) log_display();
}

StepState Solver::step_after_loss(bool verbose) {
  device_->run_passes(iter(), verbose);
  const double loss = device_->state().loss;
  require_finite(loss);
  take_loss(loss);
  return device_->update(iter(), next_rates());
}

void Solver::forward(uint64_t pass) {
  context_.pass = pass;
  net().forward();
}

/// The loss of the k-th batch of this iteration. Throws Error(kDiverged), so that no weight learns from it.
double Solver::forward_finite(int k) {
  forward(uint64_t(iter()) * uint64_t(config().iter_size()) + uint64_t(k));
  const double loss = net().loss();
  require_finite(loss);
  return loss;
}

void Solver::require_finite(double loss) {
  if (std::isfinite(loss)) return;
  progress_.loss = loss;
  throw_diverged("the loss is " + std::string(std::isnan(loss) ? "nan" : "inf"),
                 "a smaller base_lr or clip_gradients may help");
}

/// Gradients of iter_size batches, added up, and the mean of their losses.
double Solver::forward_backward() {
  double sum = 0;
  for (int k = 0; k < config().iter_size(); ++k) {
    sum += forward_finite(k);
    net().backward(k > 0);
  }
  return sum / config().iter_size();
}

void Solver::throw_diverged(const std::string& what, const std::string& hint) {
  const std::string where = net().first_not_finite();
  const std::string text =
      "training diverged at iteration " + std::to_string(iter()) + ": " + what +
      (where.empty() ? "" : "; first in " + where) +
      (last_snapshot_ >= 0 ? "; the snapshot of iteration " + std::to_string(last_snapshot_) + " is good" : "");
  tell([&](TrainObserver& observer) { observer.on_diverged(progress_, text); });
  throw Error(ExitCode::kDiverged, text, hint);
}

void Solver::log_display() {
  const double now = clock_seconds(), lapse = now - shown_seconds_;
  log_info() << "Iteration " << iter() << " (" << float(double(iter() - shown_iter_) / (lapse > 0 ? lapse : 1))
             << " iter/s, " << float(lapse) << "s/" << config().display()
             << " iters), loss = " << Shown{progress_.smoothed_loss};
  shown_seconds_ = now;
  shown_iter_ = iter();
  log_scores("Train", outputs_->read());
  log_info() << "Iteration " << iter() << ", lr = " << progress_.rate;
  tell([&](TrainObserver& observer) { observer.on_display(progress_, outputs_->scores()); });
}

void Solver::take_requests() {
  const int asked = requests_->exchange(kRequestNothing);
  if (asked & kRequestSnapshot) try_snapshot();
  if (asked & kRequestStop) stop_ = true;
}

}  // namespace cortado
