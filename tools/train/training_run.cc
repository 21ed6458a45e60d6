#include "tools/train/training_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "core/log.h"
#include "core/process/random_id.h"
#include "core/process/unix_seconds.h"
#include "data/pipeline/pipeline.h"
#include "solvers/snapshot_files.h"
#include "tools/options/flags.h"
#include "tools/options/run_options.h"
#include "tools/options/run_source.h"
#include "tools/output/terminal.h"
#include "tools/program/companion.h"
#include "tools/report/report.h"
#include "tools/runs/environment.h"
#include "tools/runs/kept_data.h"
#include "tools/runs/resolved_files.h"
#include "tools/runs/run_file.h"
#include "tools/runs/run_list.h"
#include "tools/train/next_command.h"
#include "tools/train/resume_command.h"

namespace cortado::tools {

namespace {

namespace fs = std::filesystem;

/// Flags that a resume does not repeat: they choose the start, or are in the run's solver and nets.
bool is_for_once(const std::string& flag) {
  for (const char* name : {"solver", "run", "resume", "snapshot", "weights", "set", "keep-best", "keep-last",
                           "snapshot-every", "quiet", "verbose"})
    if (flag == name) return true;
  return false;
}

/// `path` relative to `base`, unless it is outside of `base`.
std::string nearest_name(const std::string& path, const std::string& base) {
  // ".." of a link is the folder above its target, so such paths are resolved.
  const fs::path whole = path.find("/../") == path.npos ? fs::path(path) : fs::weakly_canonical(path);
  const std::string near = whole.lexically_proximate(base).string();
  return near.starts_with("..") ? path : near;
}

runs::RunRecord new_record(const Arguments& arguments, const SolverOptions& options) {
  runs::RunRecord record;
  record.id = random_id();
  record.created = unix_seconds();
  record.folder = fs::current_path().string();
  record.solver = arguments.text("solver");
  record.command = own_command();
  record.weights = options.weights;
  for (const auto& [name, values] : arguments.given())
    if (!is_for_once(name)) record.flags[name] = values;
  return record;
}

std::unique_ptr<MadeFolders> made_folder(const runs::RunPaths& paths) {
  std::error_code failure;
  auto made = std::make_unique<MadeFolders>(paths.folder, failure);
  if (failure) throw Error(ExitCode::kIo, "cannot create the folder " + paths.folder + ": " + failure.message());
  return made;
}

runs::RunPaths new_paths(const std::string& folder) {
  runs::RunPaths paths(folder);
  runs::check_run_folder(paths);
  return paths;
}

/// The interval of about fifty histograms in a training, unless --histograms is given.
int64_t histogram_interval(const Arguments& arguments, int64_t max_iter) {
  if (arguments.has("histograms")) return arguments.integer("histograms");
  return std::max<int64_t>(1, max_iter / 50);
}

/// "the last snapshot", or "accuracy 0.91 at iteration 400" for the weights that keep_best keeps.
std::string reason_for_weights(const RunSource& source, const std::string& keep_best, const std::string& folder) {
  if (!source.is_best) return "the last snapshot";
  for (const runs::BestScore& best : runs::read_run(folder).best)
    if (best.name == keep_best)
      return keep_best + " " + number_text("%.4g", best.value) + " at iteration " + std::to_string(best.iter);
  return "the best " + keep_best;
}

}  // namespace

std::vector<Flag> run_flags() {
  return joined(
      {{{.name = "run",
         .kind = FlagKind::kText,
         .value = "FOLDER",
         .help = "a training run's folder",
         .note = "a new one, for files, record, log, metrics, TensorBoard events, snapshots and report"},
        {.name = "resume",
         .kind = FlagKind::kText,
         .value = "FOLDER",
         .help = "continue the run in this folder, with its flags; --set changes them permanently"}},
       advanced({{.name = "keep-best",
                  .kind = FlagKind::kText,
                  .value = "SCORE",
                  .help = "keep the snapshot with the best value of this test score; overrides keep_best"},
                 with_note(keep_last_flag("", 0), "overrides keep_last"),
                 {.name = "snapshot-every",
                  .kind = FlagKind::kText,
                  .value = "TIME",
                  .help = "time between snapshots, as \"10m\"; overrides snapshot_every"},
                 {.name = "histograms",
                  .kind = FlagKind::kInteger,
                  .value = "N",
                  .help = "with --run, record histograms of weights and gradients every N iterations; 0: never; by "
                          "default 50 times",
                  .least = 0}})});
}

ResumedRun::ResumedRun(Arguments& arguments) : paths(fs::absolute(arguments.text("resume")).string()) {
  for (const char* flag : {"solver", "run", "snapshot", "weights"})
    if (arguments.has(flag))
      throw usage_error(std::string("--resume and --") + flag + " exclude each other",
                        "a run continues from its own solver and newest snapshot");
  if (!runs::is_run(paths.folder))
    throw usage_error("'" + arguments.text("resume") + "' is not a run", "start a run with --run=FOLDER");
  record = runs::read_record(paths.record);
  std::error_code failure;
  is_elsewhere = !fs::equivalent(fs::current_path(), record.folder, failure);
  add_flags(arguments);
  paths = runs::RunPaths(nearest_name(paths.folder, record.folder));
}

void ResumedRun::add_flags(Arguments& arguments) const {
  try {
    arguments.add(record.flags);
  } catch (const Error& error) {
    throw usage_error(paths.record + ": flags: " + error.mistakes()[0].message,
                      "correct or remove it in \"flags\" of that file");
  }
}

SolverFile ResumedRun::solver() const { return runs::read_resolved(paths); }

void ResumedRun::enter_folder() const {
  std::error_code failure;
  fs::current_path(record.folder, failure);
  if (failure)
    throw Error(ExitCode::kIo, "cannot enter " + record.folder + ", where the run was started: " + failure.message(),
                "data paths are relative to it; if it has moved, change \"folder\" in " + paths.record);
}

void ResumedRun::choose_start(const std::string& prefix, SolverOptions& options) const {
  for (const auto& entry : list_snapshot_files(prefix))
    if (entry.is_state) options.snapshot = "auto";
  if (options.snapshot.empty()) options.weights = record.weights;
}

TrainingRun::TrainingRun(const Arguments& arguments, const ResumedRun* resumed, SolverConfig& config,
                         const SolverOptions& options)
    : arguments_(arguments),
      options_(options),
      is_new_(!resumed),
      is_elsewhere_(resumed && resumed->is_elsewhere),
      paths_(resumed ? resumed->paths : new_paths(arguments.text("run"))),
      folders_(made_folder(paths_)),
      lock_(paths_),
      log_(paths_),
      record_(resumed ? resumed->record : new_record(arguments, options)),
      reports_(paths_.folder) {
  config.set_snapshot_prefix(runs::prefix_in(paths_, config.snapshots.prefix));
  file_ = config.file;
}

/// Removes the lock file while holding the lock: no other process can then hold a lock on a removed file.
TrainingRun::~TrainingRun() {
  if (!is_new_ || metrics_) return;
  for (const std::string& path : {paths_.log, paths_.lock}) ::unlink(path.c_str());
}

void TrainingRun::write_files(Solver& solver) {
  metrics_.emplace(paths_.metrics, runs::open_run_file(paths_.metrics, O_RDWR | O_APPEND | O_CREAT));
  runs::write_resolved(paths_, file_, options_);
  Net& net = solver.net();
  record_.version = runs::program_version();
  record_.inputs = runs::inputs_of(file_, options_);
  record_.machine = runs::describe_environment(net.context());
  record_.flags["seed"] = {std::to_string(net.context().seed)};
  record_.starts.push_back({unix_seconds(), ::getpid(), solver.resumed_from(), arguments_.each("set")});
  record_.shapes = runs::input_shapes(net.plan().graph);
  runs::keep_names(paths_, record_.inputs);
  runs::write_record(paths_.record, record_);
}

void TrainingRun::watch(Solver& solver) {
  write_files(solver);
  Net& net = solver.net();
  solver.add_observer(&*metrics_);
  events_.emplace(paths_.tensorboard, paths_.folder, solver.config().file.solver, net);
  solver.add_observer(&*events_);
  if (const int64_t every = histogram_interval(arguments_, solver.progress().max_iter); every > 0) {
    layers_.emplace(net, every);
    layers_->add_reader(runs::layer_lines(paths_.layers));
    events_->follow(*layers_);
    solver.add_observer(&*layers_);
  }
  solver.add_observer(&reports_);
}

void TrainingRun::report() {
  try {
    CommandContext context(arguments_);
    context.handle<data::RestartNotices>().given = true;  // no notices after the training
    write_report(paths_.folder, &context, skip_bad_of(arguments_));
  } catch (const Error& error) {
    log_warning() << "cannot write the report: " << error.mistakes()[0].message;
  }
}

std::string TrainingRun::from_start(const std::string& command) const {
  return is_elsewhere_ ? "cd " + quoted_for_shell(record_.folder) + " && " + command : command;
}

void TrainingRun::show_results() const {
  std::vector<std::string> lines;
  if (file_exists(paths_.report)) lines.push_back("report: " + paths_.report);
  try {
    const RunSource source = source_of_run(paths_.folder);
    if (!source.weights.empty()) {
      const std::string reason = reason_for_weights(source, file_.solver.keep_best(), paths_.folder);
      lines.push_back("weights: " + source.weights + " (" + reason + ")");
      lines.push_back("next: " + from_start(next_command(paths_.folder, source)));
    }
  } catch (const Error&) {  // a solver without a net for testing
  }
  const bool is_shown = is_terminal(STDERR_FILENO) && !arguments_.on("verbose");  // log lines are not
  for (const std::string& line : lines) {
    log_info() << line;
    if (is_shown) show_error(line);
  }
}

}  // namespace cortado::tools
