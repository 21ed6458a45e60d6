#include "solvers/checkpointer.h"

#include "core/log.h"
#include "core/process/random_id.h"
#include "core/process/unix_seconds.h"
#include "proto/weights/solver_state_file.h"
#include "solvers/run_conditions.h"
#include "solvers/snapshot.h"
#include "solvers/snapshot_files.h"

namespace cortado {

namespace {

constexpr const char* kVersion = "cortado 1";
constexpr int64_t kOtherParts = 500'000;  ///< parts of a state besides its histories: averages, data positions, kernels

}  // namespace

Checkpointer::Checkpointer(TrainState& state, Iteration& iteration, Evaluation& evaluation, Observers& observers)
    : state_(state), iteration_(iteration), evaluation_(evaluation), observers_(observers), run_(random_id()) {}

void Checkpointer::begin(RunStart start) {
  lock_ = std::move(start.lock);
  holder_ = start.prefix_holder;
  started_from_ = std::move(start.weights);
  if (start.snapshot) restore(*start.snapshot);
  state_.progress.start_iter = iter();
  if (state_.share.is_first() && plan().any()) {
    check_parts();
    check_space();
  }
  if (!lock_) return;
  archive_stale_snapshots();
  apply_retention();
}

void Checkpointer::restore(const Snapshot& snapshot) {
  log_info() << "Restoring previous solver status from " << snapshot.state_path;
  state_.load(snapshot);
  iteration_.load_histories(snapshot.state, snapshot.state_path);
  if (snapshot.exact()) iteration_.load(snapshot.state.training());
  resumed_from_ = snapshot.state_path;
  if (snapshot.state_path == plan().paths(iter()).state) restore_newest(snapshot);
  if (state_.average) restore_average(snapshot);
  if (snapshot.exact()) {
    const caffe::TrainingState& training = snapshot.state.training();
    if (training.has_run()) run_ = training.run();
    evaluation_.load(training);
    if (const std::string warning = warning_of_conditions(training, state_.net); !warning.empty()) warn(warning);
  } else {
    warn(
        "the snapshot has neither data position nor random state: training continues, but not where it would have "
        "been");
  }
  if (iter() >= state_.progress.max_iter)
    log_info() << "Training is already complete: the snapshot is of iteration " << iter() << " of "
               << state_.progress.max_iter;
}

/// The loss of its weights may be nan. That of an earlier snapshot of the run was finite, because training continued.
void Checkpointer::restore_newest(const Snapshot& snapshot) {
  state_.newest_snapshot = iter();
  const std::string& run = snapshot.state.training().run();
  if (!run.empty()) state_.proven_snapshot = state_before(plan().prefix, run, iter());
}

void Checkpointer::restore_average(const Snapshot& snapshot) {
  const caffe::TrainingState& training = snapshot.state.training();
  if (training.average_size() > 0) return state_.average->load(training, snapshot.state_path);
  state_.average->reset();
  if (snapshot.exact()) warn("the snapshot has no average of the weights: starting it from the weights");
}

caffe::SolverState Checkpointer::state_message() {
  caffe::SolverState message;
  caffe::TrainingState& training = *message.mutable_training();
  training.set_version(kVersion);
  training.set_run(run_);
  training.set_written(unix_seconds());
  if (iter() == state_.progress.max_iter) training.set_ended_at(iter());
  training.set_seed(state_.net.context().seed);
  save_conditions(state_.net, training);
  evaluation_.save(training);
  state_.save(message);
  state_.save_carried(training);
  iteration_.save(training);
  iteration_.save_histories(training);
  return message;
}

/// Collective: the first rank receives what only other ranks have.
void Checkpointer::gather() {
  iteration_.gather_histories();
  state_.carried.gather();
}

void Checkpointer::write() {
  gather();
  if (!state_.share.is_first()) return;
  take_lock();
  write_gathered();
}

/// Broadcasts the first rank's answer: whether a snapshot of this iteration is already written.
bool Checkpointer::agrees_to_write() {
  uint64_t wanted = state_.newest_snapshot != iter();
  if (ranks::Engine* engine = state_.share.engine)
    engine->broadcast(reinterpret_cast<std::byte*>(&wanted), sizeof wanted, 0);
  return wanted != 0;
}

void Checkpointer::write_gathered() {
  const SnapshotPaths paths = plan().paths(iter());
  WeightAverage* average = state_.average ? &*state_.average : nullptr;
  if (average) {
    const ShownAverage shown(average, true);
    write_average(paths, state_.net);
  }
  const ShownAverage hidden(average, false);
  write_snapshot(paths, state_.net, plan().diffs, state_.update, state_message());
  iteration_.drop_histories();
  state_.carried.drop();
  state_.newest_snapshot = iter();
  observers_.tell([&](TrainObserver& observer) { observer.on_snapshot(state_.progress, paths.state); });
}

void Checkpointer::take_lock() {
  if (lock_) return;
  lock_ = std::make_unique<SnapshotLock>(plan().prefix, holder_);
  archive_stale_snapshots();
}

void Checkpointer::try_write() {
  const bool wanted = agrees_to_write();
  if (wanted) gather();
  if (!state_.share.is_first()) return;
  try {
    take_lock();
    if (wanted) write_gathered();
    if (wanted) failure_.reset();
    apply_retention();
  } catch (const Error& error) {
    if (error.code() != ExitCode::kIo) throw;
    failure_ = error;
    const std::string kept = state_.newest_snapshot >= 0
                                 ? "; the snapshot of iteration " + std::to_string(state_.newest_snapshot) + " is kept"
                                 : "";
    log_error() << "THE SNAPSHOT OF ITERATION " << iter() << " WAS NOT WRITTEN: " << error.mistakes()[0].message
                << kept;
    warn("training continues without this snapshot");
  }
}

/// Applies keep_last and keep_best. If the snapshot of the best iteration could not be written, the previous best is
/// kept.
void Checkpointer::apply_retention() {
  const int64_t best = evaluation_.best_iter();
  if (best >= 0) link_best(plan(), best);
  prune();
}

void Checkpointer::prune_proven() {
  if (state_.share.is_first() && pruned_at_ != state_.proven_snapshot) prune();
}

/// Until the newest snapshot is proven, the last proven one is kept, too: the loss of the newest weights may be nan.
void Checkpointer::prune() {
  pruned_at_ = state_.proven_snapshot;
  if (plan().keep_last <= 0 || state_.newest_snapshot < 0) return;
  const PruneOrder order{.prefix = plan().prefix,
                         .run = run_,
                         .keep_last = plan().keep_last,
                         .best = {evaluation_.best_iter()},
                         .newest_is_proven = state_.newest_snapshot == state_.proven_snapshot};
  if (!prune_snapshots(order).newest_is_whole)
    warn("the snapshot of iteration " + std::to_string(state_.newest_snapshot) +
         " cannot be read back completely: older ones are kept despite keep_last");
}

/// Moves snapshots after the start iteration away. They are from another run. Otherwise this run would overwrite them
/// one by one, and a resume could find a mixture of two runs.
void Checkpointer::archive_stale_snapshots() {
  const Progress& progress = state_.progress;
  if (progress.start_iter >= progress.max_iter) return;
  const std::string& prefix = plan().prefix;
  const int64_t start = resumed_from_.empty() ? -1 : progress.start_iter;
  const SetAside aside = set_later_snapshots_aside(prefix, start, started_from_);
  if (aside.folder.empty()) return;
  std::string list;
  for (const int64_t iter : aside.iterations) list += (list.empty() ? ", of iteration " : ", ") + std::to_string(iter);
  warn("this run starts at iteration " + std::to_string(progress.start_iter) + ", and " + prefix +
       " had later snapshots of another run" + list + ": they were moved to " + aside.folder);
}

/// Checks the limits for reading a state back, so that a snapshot is not found to be unreadable only when it is needed.
void Checkpointer::check_parts() {
  if (plan().hdf5) return;
  const int64_t shards = shards_with_history(), parts = kPartsOfABlob * int64_t(state_.update.history_blobs()) * shards;
  if (parts + kOtherParts > kMaxStateParts)
    throw Error(ExitCode::kSnapshot,
                "a snapshot would have " + std::to_string(parts) + " parts, for " + std::to_string(shards) +
                    " shards, but the limit for reading one is " + std::to_string(kMaxStateParts - kOtherParts),
                shards > 1 ? "use fewer shards, or set snapshot_format: HDF5" : "set snapshot_format: HDF5");
}

void Checkpointer::check_space() {
  const int64_t average = state_.average ? state_.average->bytes() : 0;
  const int64_t velocity = shards_with_history() > 1 ? state_.net.plan().learned_bytes() : 0,
                histories = state_.update.history_bytes() * shards_with_history();
  const int64_t size = state_.net.plan().weight_bytes() + histories + velocity + 2 * average + state_.carried.bytes(),
                room = free_bytes(plan().prefix);
  const SnapshotPaths paths = plan().paths(0);
  if (paths.hdf5) check_hdf5_snapshot(paths.weights, state_.net);
  if (!paths.hdf5 && size >= int64_t(1) << 31)
    throw Error(ExitCode::kSnapshot, "a snapshot of this net would exceed 2 GiB, the limit of its format",
                "set snapshot_format: HDF5, which has no such limit");
  if (room >= 0 && room < 2 * size)
    warn("a snapshot takes " + std::to_string(size >> 20) + " MiB, and only " + std::to_string(room >> 20) +
         " MiB are free at " + plan().prefix);
}

}  // namespace cortado
