// A solver's state to and from snapshots: all that decides the bits of what comes next.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "core/error.h"
#include "core/log.h"
#include "graph/freeze.h"
#include "kernels/kernel_cache.h"
#include "solvers/snapshot_files.h"
#include "solvers/snapshot_hdf5.h"
#include "solvers/solver.h"

namespace cortado {

namespace {

constexpr const char* kVersion = "cortado 1";
constexpr const char* kMemoriesNet = "solver:memories";

std::string net_name(size_t test) { return "test:" + std::to_string(test); }

void save_positions(const Net& net, const std::string& name, uint64_t seed, caffe::TrainingState& training) {
  for (const auto& [layer, position] : net.positions()) {
    caffe::DataPosition& data = *training.add_data();
    data.set_net(name);
    data.set_layer(layer);
    data.set_position(position);
    data.set_seed(seed);
  }
}

/// One line for each node of the plan: what would change bits if it were chosen otherwise.
std::vector<std::string> choices_of(const Net& net) {
  std::vector<std::string> lines;
  const graph::Plan& plan = net.plan();
  for (size_t n = 0; n < plan.graph.nodes.size(); ++n) {
    const graph::Node& node = plan.graph.nodes[n];
    std::string line = node.name + " (" + node.type + ")";
    for (const graph::ValueId y : node.y) line += " " + name_of(plan.graph.value(y).layout);
    if (!plan.needs[n].algorithm.empty()) line += " " + plan.needs[n].algorithm;
    lines.push_back(line);
  }
  return lines;
}

/// Begins the line behind the choices that tells which layers learn nothing.
constexpr const char* kFrozen = "frozen: ";

std::string frozen_line(const Net& net) {
  std::string names;
  for (const std::string& name : graph::layers_that_keep(net.plan().graph)) names += (names.empty() ? "" : ", ") + name;
  return kFrozen + (names.empty() ? "none" : names);
}

}  // namespace

void Solver::choose_seed(const std::optional<Snapshot>& snapshot) {
  const bool given = config().random_seed() >= 0;
  if (given) {
    context_.seed = uint64_t(config().random_seed());
  } else {
    context_.seed = std::random_device()();
    if (!snapshot || !snapshot->exact()) log_info() << "No random_seed is given: taking " << context_.seed;
  }
  if (!snapshot || !snapshot->exact()) return;
  const uint64_t before = snapshot->state.training().seed();
  if (given && before != context_.seed)
    warn("random_seed differs from the snapshot's; training goes on with the snapshot's");
  context_.seed = before;
}

caffe::SolverState Solver::state() {
  caffe::SolverState state;
  state.set_iter(int(iter()));
  LearningRate& rate = schedule_.rate();
  state.set_current_step(rate.current_step());
  if (rate.is_plateau()) {
    state.set_minimum_loss(rate.plateau().least());
    state.set_iter_last_event(int(rate.plateau().last_event()));
  }
  save_training(*state.mutable_training());
  return state;
}

void Solver::save_tests(caffe::TrainingState& training) const {
  for (size_t i = 0; i < testers_.size(); ++i) {
    training.add_test_pass(testers_[i].passes());
    save_positions(*nets_.tests[i], net_name(i), context_.seed, training);
  }
  if (early_stop_) early_stop_->save(training);
}

void Solver::save_training(caffe::TrainingState& training) {
  if (before_test_)
    training = *before_test_;
  else
    save_tests(training);
  training.set_version(kVersion);
  training.set_run(run_);
  training.set_written(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  training.set_seed(context_.seed);
  training.set_pass(uint64_t(iter()) * uint64_t(config().iter_size()));
  save_positions(*nets_.train, "train", context_.seed, training);
  for (const float loss : window_.recent()) training.add_recent_losses(loss);
  training.set_smoothed_loss(window_.smoothed());
  training.set_threads(context_.threads);
  training.set_device(context_.device.str());
  for (const std::string& line : choices_of(*nets_.train)) training.add_choices(line);
  training.add_choices(frozen_line(*nets_.train));
  for (const auto& [problem, choice] : context_.handle<kernels::KernelCache>().recorded()) {
    caffe::KernelChoice& kernel = *training.add_kernel();
    kernel.set_problem(problem);
    kernel.set_candidate(choice.candidate);
  }
  if (device_ && context_.precision == Precision::kFp16) {
    const StepState step = device_->state();
    training.set_loss_scale(step.loss_scale);
    training.set_good_steps(step.good_steps);
    training.set_skipped_steps(step.skipped);
  }
  save_memories(training);
  if (average_) average_->save(training);
  for (const BestTestScore& best : best_) {
    caffe::BestScore& score = *training.add_best();
    score.set_name(best.name);
    score.set_value(best.value);
    score.set_iter(int(best.iter));
  }
}

/// What larc_turbo remembers, as a layer's values of a net of that name.
void Solver::save_memories(caffe::TrainingState& training) const {
  const std::vector<float> memories = update_->memories();
  if (memories.empty()) return;
  caffe::LayerState& state = *training.add_layer();
  state.set_net(kMemoriesNet);
  caffe::BlobProto& blob = *state.add_values();
  for (const float value : memories) blob.add_data(value);
}

void Solver::restore(const Snapshot& snapshot) {
  log_info() << "Restoring previous solver status from " << snapshot.state_path;
  net().load_weights(snapshot.weights, snapshot.weights_path);
  update_->load(snapshot.state.history(), snapshot.state_path);
  progress_.iter = snapshot.state.iter();
  schedule_.rate().set_current_step(snapshot.state.current_step());
  if (snapshot.state.has_minimum_loss())
    schedule_.rate().plateau().restore(snapshot.state.minimum_loss(), snapshot.state.iter_last_event());
  resumed_from_ = snapshot.state_path;
  if (snapshot.state_path == snapshot_paths(config(), iter()).state) last_snapshot_ = iter();
  if (snapshot.exact())
    restore_training(snapshot.state.training(), snapshot.state_path);
  else if (average_)
    average_->reset();
  if (!snapshot.exact())
    warn("the snapshot has neither data position nor random state: training goes on, but not where it would have been");
  if (progress_.iter >= progress_.max_iter)
    log_info() << "Nothing is left to train: the snapshot is of iteration " << progress_.iter << " of "
               << progress_.max_iter;
}

void Solver::restore_average(const caffe::TrainingState& training, const std::string& path) {
  if (training.average_size() > 0) return average_->load(training, path);
  average_->reset();
  warn("the snapshot has no average of the weights: it begins with them");
}

void Solver::restore_training(const caffe::TrainingState& training, const std::string& path) {
  if (training.has_run()) run_ = training.run();
  if (average_) restore_average(training, path);
  if (early_stop_) early_stop_->load(training);
  window_.restore({training.recent_losses().begin(), training.recent_losses().end()}, training.smoothed_loss());
  progress_.smoothed_loss = window_.smoothed();
  for (int i = 0; i < training.test_pass_size() && i < int(testers_.size()); ++i)
    testers_[size_t(i)].set_passes(training.test_pass(i));
  const auto seek = [&](Net& net, const std::string& name) {
    for (const auto& [layer, ignored] : net.positions())
      for (const caffe::DataPosition& data : training.data())
        if (data.net() == name && data.layer() == layer) net.seek(layer, data.position());
  };
  seek(net(), "train");
  for (size_t i = 0; i < nets_.tests.size(); ++i) seek(*nets_.tests[i], net_name(i));
  for (const caffe::LayerState& layer : training.layer())
    if (layer.net() == kMemoriesNet && layer.values_size() == 1)
      update_->set_memories({layer.values(0).data().begin(), layer.values(0).data().end()});
  if (device_ && training.has_loss_scale()) {
    StepState step;
    step.loss_scale = training.loss_scale();
    step.good_steps = training.good_steps();
    step.skipped = training.skipped_steps();
    device_->set_state(step);
  }
  for (const caffe::BestScore& score : training.best()) best_.push_back({score.name(), score.value(), score.iter()});
  compare_choices(training);
}

/// Kernels are those that the snapshot's run took, whatever a cache or a measurement says now.
void Solver::remember_kernels(const caffe::TrainingState& training) {
  std::map<std::string, kernels::KernelCache::Entry> choices;
  for (const caffe::KernelChoice& kernel : training.kernel())
    choices[kernel.problem()] = {kernel.candidate(), "snapshot", 0};
  context_.handle<kernels::KernelCache>().load(choices);
}

/// What differs from the run that wrote the snapshot costs bits, not correctness: one warning, then on.
void Solver::compare_choices(const caffe::TrainingState& training) {
  std::string difference;
  const std::vector<std::string> now = choices_of(net());
  std::vector<std::string> then(training.choices().begin(), training.choices().end());
  if (!then.empty() && then.back().starts_with(kFrozen)) {
    const std::string frozen = frozen_line(net());
    if (frozen != then.back())
      return warn("resuming with other layers frozen than before: was " + then.back() + ", is " + frozen +
                  "; weights that learn anew begin without history");
    then.pop_back();
  }
  for (size_t i = 0; i < std::max(now.size(), then.size()) && difference.empty(); ++i) {
    const std::string before = i < then.size() ? then[i] : "nothing";
    const std::string here = i < now.size() ? now[i] : "nothing";
    if (before != here) difference = "a step was '" + before + "' and is now '" + here + "'";
  }
  if (training.threads() != context_.threads)
    difference = "it was written with " + std::to_string(training.threads()) + " threads, now there are " +
                 std::to_string(context_.threads);
  if (training.device() != context_.device.str())
    difference = "it was written on " + training.device() + ", this is " + context_.device.str();
  if (!difference.empty()) warn("resuming, but not bit for bit: " + difference);
}

void Solver::snapshot() {
  const SnapshotPaths paths = snapshot_paths(config(), iter());
  if (average_) {
    const ShownAverage shown(&*average_, true);
    write_average(paths, net());
  }
  const ShownAverage hidden(average_ ? &*average_ : nullptr, false);
  write_snapshot(paths, net(), config().snapshot_diff(), *update_, state());
  last_snapshot_ = iter();
  tell([&](TrainObserver& observer) { observer.on_snapshot(progress_, paths.state); });
}

/// Training is worth more than one of its snapshots: a full disk is reported, and the next one may succeed.
void Solver::try_snapshot() {
  if (last_snapshot_ == iter()) return;
  try {
    if (!lock_) {
      lock_.emplace(config().snapshot_prefix());
      claim_prefix();
    }
    snapshot();
    failed_snapshot_.reset();
  } catch (const Error& error) {
    if (error.code() != ExitCode::kIo) throw;
    failed_snapshot_ = error;
    const std::string kept =
        last_snapshot_ >= 0 ? "; that of iteration " + std::to_string(last_snapshot_) + " is kept" : "";
    log_error() << "THE SNAPSHOT OF ITERATION " << iter() << " WAS NOT WRITTEN: " << error.mistakes()[0].message
                << kept;
    warn("training goes on without this snapshot; the next one is tried when it is due");
  }
}

/// What the prefix holds past the point where this run starts is not this run's. Left there, this run would overwrite
/// one snapshot after the other, and a resume would find a mixture of two.
void Solver::claim_prefix() {
  if (progress_.start_iter >= progress_.max_iter) return;
  const std::string& prefix = config().snapshot_prefix();
  const int64_t start = resumed_from_.empty() ? -1 : progress_.start_iter;
  const SetAside aside = set_later_snapshots_aside(prefix, start, started_from_);
  if (aside.iterations.empty()) return;
  std::string list;
  for (const int64_t iter : aside.iterations) list += (list.empty() ? "" : ", ") + std::to_string(iter);
  warn("this run starts at iteration " + std::to_string(progress_.start_iter) + ", and " + prefix +
       " had snapshots of another one past it, of iteration " + list + ": they were moved to " + aside.folder);
}

void Solver::check_space() {
  if (!lock_) return;
  const int64_t average = average_ ? average_->bytes() : 0;
  const int64_t size = net().plan().weight_bytes() + update_->history_bytes() + 2 * average,
                room = free_bytes(config().snapshot_prefix());
  const SnapshotPaths paths = snapshot_paths(config(), 0);
  if (paths.hdf5) check_hdf5_snapshot(paths.weights, net());
  if (!paths.hdf5 && size >= int64_t(1) << 31)
    throw Error(ExitCode::kSnapshot, "a snapshot of this net would pass 2 GiB, the most that its format can hold",
                "snapshot_format: HDF5 has no such limit");
  if (room >= 0 && room < 2 * size)
    warn("a snapshot takes " + std::to_string(size >> 20) + " MiB, and only " + std::to_string(room >> 20) +
         " MiB are free at " + config().snapshot_prefix());
}

}  // namespace cortado
