#include "tools/report/report.h"

#include <cmath>
#include <functional>
#include <optional>

#include "core/error.h"
#include "core/files/file.h"
#include "core/log.h"
#include "solvers/snapshot.h"
#include "solvers/snapshot_files.h"
#include "tools/net/step_timing.h"
#include "tools/report/curves.h"
#include "tools/report/test_results.h"
#include "tools/runs/resolved_files.h"
#include "tools/runs/run_comparison.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_list.h"
#include "tools/runs/run_record.h"

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kTimedIterations = 5, kMostSolver = 1 << 20;

Json summary_of(const runs::RunSummary& run) {
  Json best = Json::array();
  for (const runs::MetricRow::Best& score : run.best)
    best.push_back({{"name", score.name}, {"value", score.value}, {"iter", score.iter}});
  return {{"path", run.path},
          {"state", runs::name_of(run.state)},
          {"iter", run.iter},
          {"max_iter", run.max_iter},
          {"loss", std::isfinite(run.loss) ? Json(run.loss) : Json()},
          {"best", best},
          {"created", run.created},
          {"seconds", run.seconds},
          {"img_s", run.images_per_second},
          {"problem", run.problem}};
}

Json environment_of(const runs::RunRecord& record) {
  Json inputs = Json::array(), starts = Json::array();
  for (const runs::InputFile& input : record.inputs)
    inputs.push_back({{"kind", input.kind}, {"path", input.path}, {"bytes", input.bytes}, {"digest", input.digest}});
  for (const runs::Start& start : record.starts)
    starts.push_back({{"t", start.time}, {"from", start.from}, {"set", start.set}});
  return {{"version", record.version}, {"command", record.command}, {"folder", record.folder}, {"flags", record.flags},
          {"machine", record.machine}, {"inputs", inputs},          {"starts", starts}};
}

/// The solver as it is trained, as text; null where it cannot be read.
Json solver_text_of(const runs::RunPaths& paths) {
  try {
    return read_file(paths.solver, kMostSolver);
  } catch (const Error&) {
    return {};
  }
}

/// Warnings and errors, the last hundred of them.
Json warnings_of(const std::vector<runs::MetricRow>& rows) {
  Json out = Json::array();
  for (const runs::MetricRow& row : rows)
    if (row.event == "warn" || row.event == "nan" || row.event == "error")
      out.push_back({{"iter", row.iter}, {"text", row.text}});
  while (out.size() > 100) out.erase(out.begin());
  return out;
}

/// What differs from the run that was begun before this one in the same folder.
Json previous_of(const std::string& run) {
  const std::string before = runs::run_before(run);
  if (before.empty()) return {};
  const runs::RunComparison comparison = runs::compare_runs(before, run);
  Json files = Json::array(), facts = Json::array(), scores = Json::array();
  for (const auto& file : comparison.files) files.push_back({{"name", file.name}, {"lines", file.lines}});
  for (const auto& fact : comparison.facts) facts.push_back({fact.name, fact.a, fact.b});
  for (const auto& score : comparison.scores)
    scores.push_back({score.name, score.a ? Json(*score.a) : Json(), score.b ? Json(*score.b) : Json()});
  return {{"path", before}, {"files", files}, {"facts", facts}, {"scores", scores}};
}

/// Those of keep_best, else the newest; "" where there are none.
std::string weights_of(const caffe::SolverParameter& solver) {
  const std::string best = best_weights_path(solver);
  if (file_exists(best)) return best;
  SnapshotFile newest{-1, "", false};
  for (const SnapshotFile& file : list_snapshot_files(solver.snapshot_prefix()))
    if (!file.is_state && file.iter > newest.iter) newest = file;
  return newest.path;
}

Json layer_times(const SolverFile& file, Context& context) {
  SolverOptions options;
  SolverNetReader reader(file, options, context);
  const SolverNetFile wanted = reader.train();
  const std::unique_ptr<Net> net = make_net(wanted.file, wanted.options, context);
  const Roofline roof(context.threads);
  return json_of(*net, time_net(*net, kTimedIterations, 1), roof);
}

/// What `compute` gives, or null and a note about why it does not.
Json attempted(const char* what, Json& notes, const std::function<Json()>& compute) {
  try {
    return compute();
  } catch (const Error& error) {
    notes.push_back(std::string(what) + ": " + error.mistakes()[0].message);
    return {};
  }
}

void add_computed(const runs::RunPaths& paths, Context& context, Json& report) {
  Json& notes = report["notes"];
  std::optional<SolverFile> file;
  attempted("the solver", notes, [&] {
    file = runs::read_resolved(paths);
    return Json();
  });
  if (!file) return;
  const std::string weights = weights_of(file->solver);
  report["test"] = attempted("the test", notes, [&]() -> Json {
    const SolverOptions options;
    SolverNetReader reader(*file, options, context);
    if (weights.empty() || reader.test_count() == 0) return {};
    return test_results(reader.test(0).file, weights, context);
  });
  report["times"] = attempted("the times of layers", notes, [&] { return layer_times(*file, context); });
}

}  // namespace

Json report_of(const std::string& folder, Context* context) {
  const runs::RunPaths paths(folder);
  const runs::RunSummary run = runs::read_run(folder);
  const std::vector<runs::MetricRow> rows = runs::read_metrics(paths.metrics);
  Json report = {{"run", summary_of(run)},
                 {"environment", environment_of(runs::read_record(paths.record))},
                 {"solver", solver_text_of(paths)},
                 {"curves", curves_of(rows)},
                 {"layers", layer_curves(paths.layers)},
                 {"warnings", warnings_of(rows)},
                 {"notes", Json::array()},
                 {"previous", previous_of(run.path)},
                 {"test", Json()},
                 {"times", Json()}};
  if (context) add_computed(paths, *context, report);
  return report;
}

void write_report(const std::string& run, Context* context) {
  write_file_atomically(runs::RunPaths(run).report, report_page(report_of(run, context)));
}

}  // namespace cortado::tools
