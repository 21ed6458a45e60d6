// `cortado train`: from files to updates. The solver's message names nets; a net's message becomes a graph, the graph a
// plan, the plan a net; the loop trains it.
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

void say_shares(const RankRole& role, const Solver& solver, const Context& context) {
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

/// `named` "": a run is resumed, whose solver names nets as they are found.
void suggest_next(const Solver& solver, const std::string& named) {
  std::string net = net_of(solver.config().file.solver);
  if (net.empty() || !is_terminal(STDERR_FILENO)) return;
  if (const std::string beside = join_path(folder_of(named), net); !file_exists(net) && file_exists(beside))
    net = beside;
  show_error("next: cortado test --model=" + net +
             " --weights=" + solver.config().snapshots.paths(solver.iter()).weights);
}

void say_how_to_resume(const Arguments& arguments, const Solver& solver, const TrainingRun* run) {
  const std::string state = solver.config().snapshots.paths(solver.iter()).state;
  const std::string text = "to resume: " + (run ? "cortado train --resume=" + quoted_for_shell(run->folder())
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
          .gpu_index = solver.device_id(),
          .said = solver.has_solver_mode() ? "solver_mode is GPU" : "",
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

/// Of a stopped training. Another rank may have been the one that was asked to stop.
int stopped_exit_code() {
  const int code = stop_exit_code();
  return code == 0 ? 128 + SIGTERM : code;
}

/// As a rank that has nothing to say.
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
    say_how_to_resume(arguments, solver, run);
    return stopped_exit_code();
  }
  suggest_next(solver, arguments.text("solver"));
  return 0;
}

/// What the first rank does besides what all do.
int train_first(const RankRole& role, const Arguments& arguments, Solver& solver, Requests& requests,
                TrainingRun* run) {
  save_choices(arguments, solver.net().context());
  say_shares(role, solver, solver.net().context());
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
  if (role.engine) stop_with_snapshot();  // others may be training already, and cannot without this one
  Requests& requests = catch_signals(signal_effect_of(arguments.text("sigint-effect")),
                                     signal_effect_of(arguments.text("sighup-effect")));
  std::optional<TrainingRun> run;
  if (role.is_first() && (resumed || arguments.has("run"))) run.emplace(arguments, resumed, config, options);
  try {
    const int code = build_and_train(role, arguments, std::move(config), options, requests, run ? &*run : nullptr);
    if (run && code == 0) run->report();
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
                      "a snapshot brings its weights; --weights starts a new training from them");
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
  return {
      {.name = "solver",
       .kind = FlagKind::kText,
       .value = "FILE",
       .help = "the solver's prototxt",
       .required = true,
       .unless = "resume",
       .operand = true},
      weights_flag("weights to start from, copied by layer name"),
      {.name = "snapshot",
       .kind = FlagKind::kText,
       .value = "FILE",
       .help =
           "a .solverstate to resume from, bit for bit; 'auto': the newest one that is whole of the run that wrote to "
           "the solver's prefix last, if there is any"},
      set_flag(),
      data_threads_flag(),
      decode_flag(),
      skip_bad_flag(),
      recompute_flag(),
      freeze_flag(),
      {.name = "seed",
       .kind = FlagKind::kInteger,
       .value = "N",
       .help = "in place of the solver's random_seed; where neither is given, one is picked and logged",
       .least = 0},
      {.name = "metrics", .kind = FlagKind::kText, .value = "FILE", .help = "append one JSON object per event"},
      {.name = "sigint-effect",
       .kind = FlagKind::kText,
       .value = "WHAT",
       .help = "of Ctrl-C: stop (with a snapshot), snapshot, or none",
       .fallback = "stop",
       .choices = effects},
      {.name = "sighup-effect",
       .kind = FlagKind::kText,
       .value = "WHAT",
       .help = "of a hangup: stop, snapshot, or none",
       .fallback = "snapshot",
       .choices = effects},
      {.name = "verbose",
       .help = "log lines on a terminal too, besides the progress line, and one for each restart of a dataset",
       .letter = 'v'}};
}

}  // namespace

Command train_command() {
  return {
      .name = "train",
      .summary = "trains a net as its solver says",
      .flags = joined({train_flags(), run_flags(), rank_flags(), state_flags(), device_flags()}),
      .operands = {},
      .examples = {{"cortado train --solver=models/lenet/solver.prototxt",
                    "trains; snapshots go where snapshot_prefix says"},
                   {"cortado train solver.prototxt --run=runs/first",
                    "everything that the training reads and leaves in one folder"},
                   {"cortado train --resume=runs/first --set solver.base_lr=0.001", "goes on with it, by another rate"},
                   {"cortado train --solver=solver.prototxt --snapshot=auto",
                    "resumes from the newest snapshot, or starts fresh"},
                   {"cortado train --solver=solver.prototxt --weights=bvlc_alexnet.caffemodel",
                    "finetunes: layers of the same name start from the file"},
                   {"cortado train --solver=solver.prototxt --weights=bvlc_alexnet.caffemodel --freeze='conv*'",
                    "the same, and convolutions keep what they have"},
                   {"cortado train --solver=solver.prototxt --set solver.base_lr=0.1 --set "
                    "net.layer[drop6].dropout_param.dropout_ratio=0",
                    "with other values than the files'"},
                   {"cortado train --solver=solver.prototxt --gpu=all", "by a process for each GPU"},
                   {"cortado train --solver=solver.prototxt --ranks=4 --threads=2",
                    "by four processes; an iteration is four batches"}},
      .run = run_train,
      .about =
          "A stopped training writes a snapshot and exits with 130 (SIGINT), 143 (SIGTERM) or 138 (SIGUSR1); one "
          "that diverged "
          "exits with 7. One that early_stop ends exits with 0, after a snapshot. Log lines are Caffe's. Datasets "
          "are read in order, and every random draw follows from the seed."};
}

}  // namespace cortado::tools
