#include "solvers/run_start.h"

#include <random>

#include "core/error.h"
#include "core/log.h"
#include "core/text/text.h"
#include "solvers/rank_start.h"
#include "solvers/run_conditions.h"

namespace cortado {

namespace {

void warn(RunStart& start, const std::string& text) {
  log_warning() << text;
  start.warnings.push_back(text);
}

void choose_seed(int64_t wanted, Context& context, RunStart& start) {
  const bool exact = start.snapshot && start.snapshot->exact(), given = wanted >= 0;
  context.seed = given ? uint64_t(wanted) : std::random_device()();
  if (!given && !exact) log_info() << "No random_seed is set: using " << context.seed;
  if (!exact) return;
  const uint64_t before = start.snapshot->state.training().seed();
  if (given && before != context.seed)
    warn(start, "random_seed differs from the snapshot's; training continues with the snapshot's");
  context.seed = before;
}

/// Only the snapshot's number of pieces continues with the same bits. Older snapshots have none.
void take_pieces(const caffe::TrainingState& training, Context& context) {
  constexpr int kMost = 2048;  // of default_pieces()
  if (const int before = training.pieces(); before >= 1 && before <= kMost) context.pieces = before;
}

}  // namespace

RunStart prepare_run(SolverConfig& config, const SolverOptions& options, Context& context) {
  const SnapshotPlan& snapshots = config.snapshots;
  RunStart start;
  start.device_engine = options.device_engine;
  if (options.engine && options.engine->rank() > 0) {
    await_conditions(*options.engine, config, context);
    scale_rate(config, options.scale_lr);
    start.share = share_of(config.iteration, options.engine);
    return start;
  }
  log_info() << "Initializing solver from parameters: \n" << config.file.solver.DebugString();
  if (!options.snapshot.empty() && !options.weights.empty())
    throw Error(ExitCode::kUsage, "--snapshot and --weights exclude each other",
                "use --snapshot to resume a training, or --weights to start a new one");
  for (const Diagnostic& warning : solver_warnings(config.file))
    warn(start, (warning.place.known() ? warning.place.str() + ": " : "") + warning.message +
                    (warning.hint.empty() ? "" : "; " + warning.hint));
  start.prefix_holder = options.shares_prefix ? SnapshotLock::Holder::kProcess : SnapshotLock::Holder::kTraining;
  if (snapshots.any() && options.shares_prefix)
    require_place_for_snapshots(snapshots.prefix);
  else if (snapshots.any())
    start.lock = std::make_unique<SnapshotLock>(snapshots.prefix);
  if (!options.snapshot.empty()) start.snapshot = find_snapshot(options.snapshot, snapshots.prefix);
  choose_seed(config.seed(), context, start);
  if (start.snapshot && start.snapshot->exact()) {
    take_pieces(start.snapshot->state.training(), context);
    take_kernels(start.snapshot->state.training(), context);
  }
  if (!start.snapshot) start.weights = starting_weights(config.file, options);
  settle_shards(config, start.snapshot && start.snapshot->exact() ? &start.snapshot->state.training() : nullptr,
                options.engine, context);
  scale_rate(config, options.scale_lr);
  start.share = share_of(config.iteration, options.engine);
  return start;
}

}  // namespace cortado
