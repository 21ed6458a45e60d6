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

constexpr int kDepth = 3;
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

Json summary_json(const std::string& path, const std::string& folder) {
  const runs::RunSummary run = runs::read_run(folder);
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
  json["curve"] = curve_of(runs::RunPaths(folder).metrics);
  return json;
}

}  // namespace

void RunIndex::find(const std::string& path, int depth, std::vector<std::string>& found) const {
  if (found.size() >= kMaxRuns) return;
  if (!path.empty() && folder_.has(path + "/run.json")) {
    found.push_back(path);
    return;
  }
  if (depth == 0) return;
  for (const Entry& entry : folder_.list(path))
    if (entry.is_folder && !entry.name.ends_with("lmdb"))
      find((path.empty() ? "" : path + "/") + entry.name, depth - 1, found);
}

const Json& RunIndex::look(const std::string& path) {
  const std::string folder = folder_.at(path);
  const runs::RunPaths paths(folder);
  Known& known = known_[path];
  const int64_t bytes = folder_.has(path + "/metrics.jsonl") ? folder_.size(path + "/metrics.jsonl") : 0;
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
  std::vector<std::string> found;
  find("", kDepth, found);
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [&](const auto& one) { return std::ranges::find(found, one.first) == found.end(); });
  std::vector<Json> all;
  for (const std::string& path : found) {
    try {
      all.push_back(look(path));
    } catch (const Error&) {  // damaged, or removed meanwhile
      known_.erase(path);
    }
  }
  std::ranges::sort(all, [](const Json& a, const Json& b) { return a["created"] > b["created"]; });
  return all;
}

Json RunIndex::summary_of(const std::string& path) {
  if (path.empty() || !folder_.has(path + "/run.json"))
    throw http::RequestError(http::Refusal::kNotFound, "'" + path + "' is not a run");
  const std::lock_guard lock(mutex_);
  return look(path);
}

}  // namespace cortado::studio
