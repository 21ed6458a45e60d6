#include "tools/options/run_source.h"

#include "core/error.h"
#include "core/files/file.h"
#include "core/log.h"
#include "solvers/snapshot_files.h"
#include "tools/runs/resolved_files.h"
#include "tools/runs/run_folder.h"

namespace cortado::tools {

namespace {

/// The run's test net, or the net of both phases.
std::string test_net_of(const runs::RunPaths& paths, const caffe::SolverParameter& solver) {
  if (solver.test_net_size() > 0) return solver.test_net(0);
  if (solver.has_net()) return solver.net();
  throw usage_error(paths.solver + " names no net for testing", "use --model=NET --weights=FILE");
}

std::string stages_of(const caffe::SolverParameter& solver) {
  std::string stages;
  if (solver.test_state_size() > 0)
    for (const std::string& stage : solver.test_state(0).stage()) stages += (stages.empty() ? "" : ",") + stage;
  return stages;
}

bool names_run(const Arguments& arguments) {
  return arguments.has("run") || (arguments.has("model") && runs::is_run(arguments.text("model")));
}

}  // namespace

std::string trained_weights(const SnapshotPlan& snapshots) {
  const std::string best = snapshots.best_weights();
  if (file_exists(best)) return best;
  SnapshotFile newest{-1, "", false};
  for (const SnapshotFile& file : list_snapshot_files(snapshots.prefix))
    if (!file.is_state && file.iter > newest.iter) newest = file;
  return newest.path;
}

RunSource source_of_run(const std::string& folder) {
  const runs::RunPaths paths(folder);
  const caffe::SolverParameter solver = runs::read_resolved(paths).solver;
  const SnapshotPlan snapshots = snapshot_plan_of(solver);
  RunSource source{test_net_of(paths, solver), stages_of(solver), trained_weights(snapshots)};
  source.is_best = !source.weights.empty() && source.weights == snapshots.best_weights();
  return source;
}

Arguments with_run(const Arguments& given) {
  if (!names_run(given)) return given;
  Arguments arguments = given;
  if (given.has("run") && given.has("model")) throw usage_error("--run and --model exclude each other");
  const std::string folder = given.text(given.has("run") ? "run" : "model");
  if (!runs::is_run(folder))
    throw usage_error("'" + folder + "' is not a run", "list the runs below this folder with `cortado runs`");
  arguments.drop("run");
  const RunSource source = source_of_run(folder);
  arguments.set("model", source.net);
  if (!source.stages.empty() && !given.has("stage")) arguments.set("stage", source.stages);
  if (given.has("weights")) return arguments;
  if (source.weights.empty())
    throw Error(ExitCode::kSnapshot, "the run " + folder + " has no snapshot yet",
                "wait for a snapshot, or give other weights with --weights");
  arguments.set("weights", source.weights);
  log_info() << folder << ": weights of " << source.weights;
  return arguments;
}

}  // namespace cortado::tools
