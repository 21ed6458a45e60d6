#include "tools/report/report.h"

#include <cmath>
#include <functional>
#include <optional>

#include "core/error.h"
#include "core/files/file.h"
#include "solvers/snapshot.h"
#include "tools/options/run_source.h"
#include "tools/report/comparison_page.h"
#include "tools/report/curves.h"
#include "tools/report/layer_times.h"
#include "tools/report/net_image.h"
#include "tools/report/page.h"
#include "tools/report/test_results.h"
#include "tools/runs/message_fields.h"
#include "tools/runs/resolved_files.h"
#include "tools/runs/run_comparison.h"
#include "tools/runs/run_file.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_list.h"
#include "tools/runs/run_record.h"

extern const char cortado_report_script[];
extern const unsigned long cortado_report_script_size;

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxSolver = 1 << 20;

Json summary_of(const runs::RunSummary& run) {
  Json best = Json::array();
  for (const runs::BestScore& score : run.best)
    best.push_back({{"name", score.name},
                    {"value", score.value},
                    {"iter", score.iter},
                    {"best", runs::direction_word(score.lower_is_better)}});
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

/// The resolved solver as text; null if it cannot be read.
Json solver_text_of(const runs::RunPaths& paths) {
  try {
    return runs::read_run_file(paths.solver, kMaxSolver);
  } catch (const Error&) {
    return {};
  }
}

/// The last hundred warnings and errors.
Json warnings_of(const std::vector<runs::MetricRow>& rows) {
  Json out = Json::array();
  for (const runs::MetricRow& row : rows)
    if (row.event == "warn" || row.event == "nan" || row.event == "error")
      out.push_back({{"iter", row.iter}, {"text", row.text}});
  while (out.size() > 100) out.erase(out.begin());
  return out;
}

/// The settings of the solver that are not its defaults: [[name, value, default], ..]. Null if it cannot be read.
Json settings_of(const runs::RunPaths& paths) {
  try {
    Json out = Json::array();
    runs::check_run_file(paths.solver);
    for (const runs::ChangedSetting& one : runs::changed_settings(read_solver(paths.solver).solver))
      out.push_back({one.name, one.value, one.fallback});
    return out;
  } catch (const Error&) {
    return {};
  }
}

/// The differences from the run that was started before this one in the same folder.
Json previous_of(const std::string& run) {
  const std::string before = runs::run_before(run);
  if (before.empty()) return {};
  const runs::RunComparison comparison = runs::compare_runs({before, run});
  Json json = comparison_json(comparison);
  json.erase("files");
  json["summary"] = runs::summary_of(comparison.layers);
  return json;
}

/// The result of `compute`, or null and a note with the error.
Json attempted(const char* what, Json& notes, const std::function<Json()>& compute) {
  try {
    return compute();
  } catch (const Error& error) {
    notes.push_back(std::string(what) + ": " + error.mistakes()[0].message);
    return {};
  }
}

void add_computed(const runs::RunPaths& paths, Context& context, int64_t skip_bad, Json& report) {
  Json& notes = report["notes"];
  std::optional<SolverConfig> config;
  attempted("the solver", notes, [&] {
    config = parse_solver(runs::read_resolved(paths));
    return Json();
  });
  if (!config) return;
  const std::string weights = trained_weights(config->snapshots);
  SolverOptions options;
  options.skip_bad = skip_bad;
  SolverNetReader reader(*config, options, context);
  report["net"] = attempted("the net's picture", notes, [&] { return net_image(reader.train()); });
  report["test"] = attempted("the test", notes, [&]() -> Json {
    if (weights.empty() || reader.test_count() == 0) return {};
    return test_results(reader.test(0), weights, skip_bad, context);
  });
  report["times"] = attempted("the times of layers", notes, [&] { return layer_times(reader, context); });
}

}  // namespace

Json report_of(const std::string& folder, Context* context, int64_t skip_bad) {
  const runs::RunPaths paths(folder);
  const runs::RunSummary run = runs::read_run(folder);
  const std::vector<runs::MetricRow> rows = runs::read_metrics(paths.metrics);
  Json report = {{"run", summary_of(run)},
                 {"environment", environment_of(runs::read_record(paths.record))},
                 {"solver", solver_text_of(paths)},
                 {"settings", settings_of(paths)},
                 {"net", Json()},
                 {"curves", curves_of(rows)},
                 {"layers", layer_curves(paths.layers)},
                 {"warnings", warnings_of(rows)},
                 {"notes", Json::array()},
                 {"previous", previous_of(run.path)},
                 {"test", Json()},
                 {"times", Json()}};
  if (context) add_computed(paths, *context, skip_bad, report);
  return report;
}

void write_report(const std::string& run, Context* context, int64_t skip_bad) {
  const Json report = report_of(run, context, skip_bad);
  runs::write_run_file(runs::RunPaths(run).report,
                       self_contained_page("Report of " + report["run"]["path"].get<std::string>(),
                                           {cortado_report_script, cortado_report_script_size}, report));
}

}  // namespace cortado::tools
