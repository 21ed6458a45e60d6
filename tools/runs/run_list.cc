#include "tools/runs/run_list.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "core/error.h"
#include "core/files/file.h"
#include "core/log.h"
#include "tools/runs/run_finder.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_record.h"

namespace cortado::runs {

namespace {

namespace fs = std::filesystem;

/// The state that ended the latest start, if any.
RunState state_after(const std::vector<MetricRow>& rows) {
  RunState state = RunState::kNew;
  for (const MetricRow& row : rows) {
    if (row.event == "run_start") state = RunState::kKilled;
    if (row.event == "run_end") state = RunState::kFinished;
    if (row.event == "stop") state = row.early ? RunState::kStoppedEarly : RunState::kStopped;
    if (row.event == "nan") state = RunState::kDiverged;
    if (row.event == "error" && state != RunState::kDiverged) state = RunState::kFailed;
  }
  return state;
}

/// The sum over all starts of the time to the last event before the next start.
double seconds_of(const std::vector<MetricRow>& rows) {
  double sum = 0, begin = 0, latest = 0;
  for (const MetricRow& row : rows) {
    if (row.event == "run_start") {
      sum += latest - begin;
      begin = row.time;
    }
    if (begin > 0) latest = row.time;
  }
  return sum + latest - begin;
}

void add_rows(const std::vector<MetricRow>& rows, RunSummary& run) {
  for (const MetricRow& row : rows) {
    run.latest = row.time;
    run.iter = row.iter;
    if (row.event == "run_start") {
      run.max_iter = row.max_iter;
      run.problem.clear();
    }
    if (row.event == "train" || row.event == "run_end" || row.event == "stop") run.loss = row.loss;
    if (row.event == "train") run.images_per_second = row.images_per_second;
    if (row.event == "test") run.is_tested = true;
    if (row.event == "snapshot") run.snapshot = row.text;
    if (row.event == "nan" || row.event == "error") run.problem = row.text;
  }
}

}  // namespace

std::string name_of(RunState state) {
  switch (state) {
    case RunState::kNew:
      return "new";
    case RunState::kRunning:
      return "running";
    case RunState::kFinished:
      return "finished";
    case RunState::kStopped:
      return "stopped";
    case RunState::kStoppedEarly:
      return "stopped_early";
    case RunState::kDiverged:
      return "diverged";
    case RunState::kFailed:
      return "failed";
    case RunState::kKilled:
      break;
  }
  return "killed";
}

const BestScore* main_score(const RunSummary& run) {
  for (const BestScore& best : run.best)
    if (best.is_main) return &best;
  return run.best.empty() ? nullptr : &run.best.front();
}

BestRun best_run(const std::vector<RunSummary>& runs, const std::string& score) {
  std::string name = score;
  std::map<std::string, int> counts;
  for (const RunSummary& run : runs)
    if (const BestScore* main = score.empty() ? main_score(run) : nullptr)
      if (++counts[main->name] > (name.empty() ? 0 : counts[name])) name = main->name;
  BestRun found;
  for (const RunSummary& run : runs)
    for (const BestScore& best : run.best) {
      if (best.name != name || !std::isfinite(best.value)) continue;
      ++found.runs;
      if (!found.run || is_better(best.lower_is_better, best.value, found.best.value)) {
        found.run = &run;
        found.best = best;
      }
    }
  return found;
}

RunSummary read_run(const std::string& folder) {
  const RunPaths paths(folder);
  if (!is_run(paths.folder))
    throw Error(ExitCode::kUsage, paths.folder + " is not a run", "give a folder that contains run.json");
  const RunRecord record = read_record(paths.record);
  RunSummary run;
  run.path = paths.folder;
  run.created = run.latest = record.created;
  run.solver = record.solver;
  // Check the lock first: a training that ends in between is then reported as running, not as killed.
  run.process = training_process(paths);
  const std::vector<MetricRow> rows = read_metrics(paths.metrics);
  add_rows(rows, run);
  run.best = best_scores(rows);
  run.lowest = names_of_lowest(rows);
  run.state = state_after(rows);
  const bool ended = run.state != RunState::kNew && run.state != RunState::kKilled;
  if (run.process != 0 && !(ended && run.process == ::getpid())) run.state = RunState::kRunning;
  run.seconds = seconds_of(rows);
  return run;
}

std::string run_before(const std::string& folder) {
  const double begun = read_record(RunPaths(folder).record).created;
  const std::string parent = folder_of(without_trailing_slashes(folder));
  std::string latest;
  double created = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent.empty() ? "." : parent, ignored)) {
    const std::string path = entry.path().lexically_normal().string();
    if (entry.is_symlink(ignored) || !is_run(path)) continue;
    try {
      const double other = read_record(RunPaths(path).record).created;
      if (other >= begun || other <= created) continue;
      latest = path;
      created = other;
    } catch (const Error&) {  // not a run, so not compared
    }
  }
  return latest;
}

std::vector<RunSummary> list_runs(const std::string& folder) {
  if (!fs::is_directory(folder)) throw Error(ExitCode::kIo, folder + ": the folder does not exist");
  std::vector<RunSummary> runs;
  RunFinder finder;
  for (const std::string& path : finder.find(without_trailing_slashes(folder))) {
    try {
      runs.push_back(read_run(fs::path(path).lexically_normal().string()));
    } catch (const Error& error) {
      log_warning() << one_line(error.mistakes()[0]);
    }
  }
  for (const std::string& path : finder.unreadable())
    log_warning() << path << " cannot be read, so its runs are missing";
  std::sort(runs.begin(), runs.end(), [](const RunSummary& a, const RunSummary& b) { return a.created > b.created; });
  return runs;
}

}  // namespace cortado::runs
