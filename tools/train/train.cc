// `cortado train`: reads the solver and its nets, builds graph, plan and net, and runs the training loop.
#include <unistd.h>

#include <csignal>
#include <optional>

#include "core/files/file.h"
#include "core/log.h"
#include "data/pipeline/pipeline.h"
#include "solvers/config.h"
#include "solvers/solver.h"
#include "tools/data/dataset_warnings.h"
#include "tools/options/flags.h"
#include "tools/options/kernel_choices.h"
#include "tools/options/net_file.h"
#include "tools/options/rank_options.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"
#include "tools/program/failure.h"
#include "tools/program/signals.h"
#include "tools/runs/metrics_writer.h"
#include "tools/train/resume_command.h"
#include "tools/train/train_view.h"
#include "tools/train/training_run.h"

namespace cortado::tools {

namespace {

SolverOptions solver_options(const Arguments& arguments) {
  SolverOptions options;
  options.state = state_of(arguments, caffe::TRAIN);
  options.state.clear_phase();
  options.weights = arguments.texts("weights");
  options.snapshot = arguments.text("snapshot");
  options.data_threads = data_threads_of(arguments);
  options.skip_bad = skip_bad_of(arguments);
  options.recompute = arguments.on("recompute");
  options.freeze = arguments.texts("freeze");
  options.overrides = overrides_of(arguments);
  return options;
}

void log_shares(const RankRole& role, const Solver& solver, const Context& context) {
  const int64_t shards = solver.config().iteration.shards;
  if (shards <= 1) return;
  const std::string by = role.engine ? " by " + std::to_string(role.engine->ranks()) + " ranks (" +
                                           role.engine->name() + ", started by " + role.launcher + ")"
                                     : "";
  const int steps = solver.config().iteration.local_steps;
  const std::string of = steps > 1 ? " of " + std::to_string(steps) + " local steps" : "";
  log_info() << "Each iteration is " << shards << " shards" << of << by << ", " << solver.progress().images_per_iter
             << " images; " << context.threads << (context.threads == 1 ? " thread" : " threads") << " for each";
}

std::string net_of(const caffe::SolverParameter& solver) {
  return solver.has_net() ? solver.net() : solver.train_net();
}

void suggest_next(const Solver& solver, const std::string& solver_path) {
  std::string net = net_of(solver.config().file.solver);
  if (net.empty() || !is_terminal(STDERR_FILENO)) return;
  if (const std::string beside = join_path(folder_of(solver_path), net); !file_exists(net) && file_exists(beside))
    net = beside;
  show_error("next: cortado test " + net + " " + solver.config().snapshots.paths(solver.iter()).weights);
}

void show_how_to_resume(const Arguments& arguments, const Solver& solver, const TrainingRun* run) {
  const std::string state = solver.config().snapshots.paths(solver.iter()).state;
  const std::string text =
      "to resume: " + (run ? run->from_start("cortado train --resume=" + quoted_for_shell(run->folder()))
                           : resume_command(arguments, state));
  if (is_terminal(STDERR_FILENO))
    show_error(text);
  else
    log_info() << text;
}

void apply_train_flags(const Arguments& arguments, const SolverOptions& options, SolverFile& file) {
  options.overrides.apply(file);
  caffe::SolverParameter& solver = file.solver;
  if (arguments.has("seed")) solver.set_random_seed(arguments.integer("seed"));
  if (arguments.has("keep-best")) solver.set_keep_best(arguments.text("keep-best"));
  if (arguments.has("keep-last")) solver.set_keep_last(int(arguments.integer("keep-last")));
  if (arguments.has("snapshot-every")) solver.set_snapshot_every(arguments.text("snapshot-every"));
}

DeviceDefaults defaults_of(const caffe::SolverParameter& solver, const RankRole& role) {
  return {.gpu = solver.solver_mode() == caffe::SolverParameter::GPU,
          .gpu_index = gpu_index_of(solver),
          .source = solver.has_solver_mode() ? "solver_mode is GPU" : "",
          .precision = precision_named(solver.precision()),
          .processes = role.processes_here,
          .local_rank = role.local_rank};
}

Solver build_solver(const Arguments& arguments, SolverConfig config, const SolverOptions& options, Context& context) {
  const Measuring measuring(arguments, context);
  for (const std::string& text : options.overrides.texts()) log_info() << "Set by the command line: " << text;
  RunStart start = prepare_run(config, options, context);
  SolverNets nets = make_solver_nets(config, options, context);
  return Solver(std::move(config), std::move(start), std::move(nets));
}

/// The exit code of a stopped training. Another rank may have received the signal.
int stopped_exit_code() {
  const int code = stop_exit_code();
  return code == 0 ? 128 + SIGTERM : code;
}

/// Runs as a rank that logs nothing.
int run_quietly(Solver& solver, Requests& requests) {
  stop_with_snapshot();
  return solver.run(requests) == Outcome::kStopped ? stopped_exit_code() : 0;
}

int run_loop(const Arguments& arguments, Solver& solver, Requests& requests, TrainingRun* run) {
  TrainView view(solver.config().average_loss);
  std::optional<runs::MetricsWriter> metrics;
  if (arguments.has("metrics")) metrics.emplace(arguments.text("metrics"));
  solver.add_observer(&view);
  if (metrics) solver.add_observer(&*metrics);
  if (run) run->watch(solver);
  stop_with_snapshot();
  if (solver.run(requests) == Outcome::kStopped) {
    show_how_to_resume(arguments, solver, run);
    return stopped_exit_code();
  }
  if (!run) suggest_next(solver, arguments.text("solver"));
  return 0;
}

/// The work of the first rank only.
int train_first(const RankRole& role, const Arguments& arguments, Solver& solver, Requests& requests,
                TrainingRun* run) {
  save_choices(arguments, solver.net().context());
  log_shares(role, solver, solver.net().context());
  for (const Diagnostic& warning : sorted_warnings(solver.net().plan().graph))
    log_warning() << warning.place.str() << ": " << warning.message << "; " << warning.hint;
  return run_loop(arguments, solver, requests, run);
}

int build_and_train(const RankRole& role, const Arguments& arguments, SolverConfig config, const SolverOptions& options,
                    Requests& requests, TrainingRun* run) {
  CommandContext context(arguments, defaults_of(config.file.solver, role));
  choose_decoder(arguments, context);
  if (arguments.on("verbose")) context.handle<data::RestartNotices>().all = true;
  Solver solver = build_solver(arguments, std::move(config), options, context);
  if (!role.is_first()) return run_quietly(solver, requests);
  return train_first(role, arguments, solver, requests, run);
}

int train_as(const RankRole& role, const Arguments& arguments, SolverConfig config, const ResumedRun* resumed) {
  SolverOptions options = solver_options(arguments);
  options.engine = role.engine;
  options.scale_lr = arguments.text("scale-lr");
  options.device_engine = arguments.text("gpu-engine");
  options.divide_batch = arguments.on("divide-batch");
  if (resumed) resumed->choose_start(config.snapshots.prefix, options);
  if (role.engine) stop_with_snapshot();  // other ranks may be training already, and cannot continue without this one
  Requests& requests = catch_signals(signal_effect_of(arguments.text("sigint-effect")),
                                     signal_effect_of(arguments.text("sighup-effect")));
  std::optional<TrainingRun> run;
  if (role.is_first() && (resumed || arguments.has("run"))) run.emplace(arguments, resumed, config, options);
  try {
    const int code = build_and_train(role, arguments, std::move(config), options, requests, run ? &*run : nullptr);
    if (run && code == 0) {
      run->report();
      run->show_results();
    }
    return code;
  } catch (...) {
    if (run) run->fail(current_failure().text);
    throw;
  }
}

int run_train(const Arguments& given) {
  Arguments arguments = given;
  if (arguments.has("snapshot") && arguments.has("weights"))
    throw usage_error("--snapshot and --weights exclude each other",
                      "use --snapshot to resume, or --weights to start a new training");
  check_output_name(arguments.text("metrics"), "metrics", {".jsonl", ".json", ".ndjson", ".log", ".txt"});
  std::optional<ResumedRun> resumed;
  if (arguments.has("resume")) {
    resumed.emplace(arguments);
    if (starts_ranks(arguments)) return run_ranks(arguments);
    resumed->enter_folder();
  }
  SolverFile file = resumed ? resumed->solver() : open_solver(arguments.text("solver"));
  apply_train_flags(arguments, solver_options(arguments), file);
  SolverConfig config = parse_solver(std::move(file));
  if (starts_ranks(arguments)) return run_ranks(arguments);
  // On a terminal the progress line replaces the log.
  if (is_terminal(STDERR_FILENO) && !arguments.on("verbose")) set_log_level(Severity::kWarning);
  return run_as_rank(arguments, [&](const RankRole& role) {
    return train_as(role, arguments, std::move(config), resumed ? &*resumed : nullptr);
  });
}

std::vector<Flag> train_flags() {
  const std::vector<std::string> effects = {"stop", "snapshot", "none"};
  Flag solver = solver_flag();
  solver.unless = "resume";
  Flag seed = with_note(seed_flag(), "in place of the solver's random_seed; by default random, and logged");
  Flag weights = with_note(weights_flag(), "to start from");
  weights.operand = false;
  return joined(
      {{solver,
        weights,
        {.name = "snapshot",
         .kind = FlagKind::kText,
         .value = "FILE",
         .help =
             "resume exactly from this .solverstate; 'auto' takes the newest complete one of the run that last wrote "
             "to the solver's prefix, if any"},
        set_flag(),
        layer_flag(),
        freeze_flag(),
        seed},
       advanced({skip_bad_flag(),
                 data_threads_flag(),
                 decode_flag(),
                 recompute_flag(),
                 {.name = "metrics",
                  .kind = FlagKind::kText,
                  .value = "FILE",
                  .help = "append one JSON object per event to this file"},
                 {.name = "sigint-effect",
                  .kind = FlagKind::kText,
                  .value = "EFFECT",
                  .help = "what SIGINT (Ctrl-C) does; stop also writes a snapshot",
                  .fallback = "stop",
                  .choices = effects},
                 {.name = "sighup-effect",
                  .kind = FlagKind::kText,
                  .value = "EFFECT",
                  .help = "what SIGHUP does; stop also writes a snapshot",
                  .fallback = "snapshot",
                  .choices = effects}}),
       {verbose_flag()}});
}

}  // namespace

Command train_command() {
  return {
      .name = "train",
      .summary = "Train a net with a solver",
      .flags = joined({train_flags(), run_flags(), rank_flags(), state_flags(), device_flags()}),
      .examples = {{"cortado train models/lenet/solver.prototxt", "train; snapshots go to snapshot_prefix"},
                   {"cortado train solver.prototxt --run=runs/first", "keep everything of the training in one folder"},
                   {"cortado train --resume=runs/first --set solver.base_lr=0.001", "continue it, at another rate"},
                   {"cortado train solver.prototxt --snapshot=auto", "resume from the newest snapshot, or start"},
                   {"cortado train solver.prototxt --weights=bvlc_alexnet.caffemodel",
                    "fine-tune: layers of the same name start from the file"},
                   {"cortado train solver.prototxt --weights=bvlc_alexnet.caffemodel --freeze='conv*'",
                    "the same, with convolutions frozen"},
                   {"cortado train solver.prototxt --set solver.base_lr=0.1 --set "
                    "net.layer[drop6].dropout_param.dropout_ratio=0",
                    "with other values than the files have"},
                   {"cortado train solver.prototxt --gpu=all", "one process for each GPU"},
                   {"cortado train solver.prototxt --ranks=4 --threads=2",
                    "four processes; an iteration is four batches"}},
      .run = run_train,
      .about =
          "A training that is stopped writes a snapshot and exits with 130 (SIGINT), 143 (SIGTERM) or 138 "
          "(SIGUSR1); one that diverges exits with 7. early_stop writes a snapshot and exits with 0. Log lines are "
          "Caffe's. Datasets are read in order, and all random numbers follow from the seed."};
}

}  // namespace cortado::tools
