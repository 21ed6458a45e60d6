#include "studio/run_index.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/files/file.h"
#include "tools/runs/metrics_file.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_list.h"

namespace cortado::studio {

namespace {

constexpr size_t kMaxRuns = 500, kCurve = 60;
constexpr int kRest = 10;  // minimum interval, in multiples of the reading time

/// JSON does not support NaN.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json curve_of(const std::string& metrics) {
  std::vector<std::pair<int64_t, double>> all;
  for (const runs::MetricRow& row : runs::read_metrics(metrics))
    if (row.event == "train" && std::isfinite(row.loss)) all.emplace_back(row.iter, row.loss);
  const size_t every = std::max<size_t>(1, all.size() / kCurve);
  Json curve = Json::array();
  for (size_t i = 0; i < all.size(); i += every) curve.push_back({all[i].first, all[i].second});
  if (!all.empty() && (all.size() - 1) % every != 0) curve.push_back({all.back().first, all.back().second});
  return curve;
}

Json run_json(const std::string& path, const runs::RunSummary& run) {
  Json json = {{"path", path},
               {"state", runs::name_of(run.state)},
               {"process", run.process},
               {"iter", run.iter},
               {"max_iter", run.max_iter},
               {"loss", number(run.loss)},
               {"created", run.created},
               {"latest", run.latest},
               {"seconds", run.seconds},
               {"images_per_second", number(run.images_per_second)},
               {"snapshot", run.snapshot},
               {"problem", run.problem},
               {"solver", run.solver}};
  if (const auto* score = runs::main_score(run))
    json["score"] = {{"name", score->name},
                     {"value", score->value},
                     {"iter", score->iter},
                     {"best", runs::direction_word(score->lower_is_better)}};
  json["lowest"] = run.lowest;
  json["curve"] = Json::array();
  return json;
}

Json summary_json(const std::string& path, const std::string& folder) {
  Json json = run_json(path, runs::read_run(folder));
  json["curve"] = curve_of(runs::RunPaths(folder).metrics);
  return json;
}

/// A run whose files are damaged, or not its own.
Json unreadable_json(const std::string& path, const Error& error) {
  runs::RunSummary unknown;
  unknown.problem = one_line(error.mistakes()[0]);
  unknown.loss = unknown.images_per_second = std::nan("");
  Json json = run_json(path, unknown);
  json["state"] = "unreadable";
  return json;
}

}  // namespace

/// The paths of all runs, relative to the studio's folder, which itself is none.
std::vector<std::string> RunIndex::find() {
  const std::string root = folder_.root();
  std::vector<std::string> found = finder_.find(root);
  std::erase(found, root);
  for (std::string& path : found) path = folder_.name_of(path);
  return found;
}

runs::FilesInUse RunIndex::in_use() {
  const std::lock_guard lock(mutex_);
  return runs::FilesInUse(finder_.find(folder_.root()));
}

const Json& RunIndex::look(const std::string& path) {
  const std::string folder = folder_.at(path);
  const runs::RunPaths paths(folder);
  Known& known = known_[path];
  const int64_t bytes = folder_.has_file(path + "/metrics.jsonl") ? folder_.size(path + "/metrics.jsonl") : 0;
  const std::pair<int64_t, int> seen(bytes, runs::training_process(paths));
  const auto now = Clock::now();
  const bool ended = seen.second != known.seen.second;
  if (seen == known.seen || (!ended && now < known.read + kRest * known.took)) return known.summary;
  known.summary = summary_json(path, folder);
  known.seen = seen;
  known.read = Clock::now();
  known.took = known.read - now;
  return known.summary;
}

Json RunIndex::list() {
  const std::lock_guard lock(mutex_);
  const std::vector<std::string> found = find();
  std::erase_if(known_, [&](const auto& one) { return std::ranges::find(found, one.first) == found.end(); });
  std::vector<Json> all;
  for (const std::string& path : found) {
    try {
      all.push_back(look(path));
    } catch (const Error& error) {
      known_.erase(path);
      if (folder_.has(path + "/run.json")) all.push_back(unreadable_json(path, error));  // not removed meanwhile
    }
  }
  std::ranges::sort(all, [](const Json& a, const Json& b) { return a["created"] > b["created"]; });
  if (all.size() > kMaxRuns) all.resize(kMaxRuns);
  return all;
}

Json RunIndex::summary_of(const std::string& path) {
  if (path.empty() || !folder_.has(path + "/run.json"))
    throw http::RequestError(http::Refusal::kNotFound, "'" + path + "' is not a run");
  const std::lock_guard lock(mutex_);
  return look(path);
}

}  // namespace cortado::studio
