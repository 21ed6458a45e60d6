// Comparison of runs: the settings and scores of each, and how its net differs from the first run's.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "proto/files/read_text.h"
#include "studio/workplace.h"
#include "tools/runs/message_fields.h"
#include "tools/runs/run_comparison.h"
#include "tools/runs/run_list.h"
#include "tools/runs/run_record.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr size_t kMaxCompared = 50;
constexpr int64_t kComparisonsMostText = 2 << 20;

/// Settings by name, in the order of their files.
using Settings = std::vector<std::pair<std::string, std::string>>;

void add_setting(Settings& settings, const std::string& name, const std::string& value) {
  const auto found = std::ranges::find(settings, name, [](const auto& one) { return one.first; });
  if (found == settings.end())
    settings.emplace_back(name, value);
  else
    found->second += ", " + value;  // a repeated field
}

/// The solver's settings; none if it was not written completely.
void add_solver(const std::string& text, Settings& settings) {
  try {
    for (const runs::FieldValue& one : runs::settings_of(read_solver_from_text(text, "solver.prototxt").solver))
      add_setting(settings, one.path, one.value);
  } catch (const Error&) {
  }
}

Settings settings_of(const Folder& folder, const std::string& path) {
  Settings settings;
  if (folder.has(path + "/solver.prototxt"))
    add_solver(folder.read(path + "/solver.prototxt", kComparisonsMostText), settings);
  const runs::RunRecord record = runs::read_record(folder.at(path + "/run.json"));
  for (const runs::InputFile& input : record.inputs) add_setting(settings, input.kind, folder.name_of(input.path));
  for (const auto& [name, value] : record.machine) add_setting(settings, name, value);
  add_setting(settings, "version", record.version);
  return settings;
}

std::string net_text(const Folder& folder, const std::string& path) {
  for (const char* name : {"/net.prototxt", "/train_net.prototxt"})
    if (folder.has(path + name)) return folder.read(path + name, kComparisonsMostText);
  return "";
}

Json json_of(const Folder& folder, const std::string& path, const std::string& first_net) {
  const runs::RunSummary run = runs::read_run(folder.at(path));
  Json json = {{"path", path}, {"state", runs::name_of(run.state)}, {"iter", run.iter}, {"max_iter", run.max_iter}};
  json["loss"] = std::isfinite(run.loss) ? Json(run.loss) : Json();
  json["seconds"] = run.seconds;
  json["scores"] = Json::array();
  for (const auto& best : run.best)
    json["scores"].push_back({{"name", best.name},
                              {"value", best.value},
                              {"iter", best.iter},
                              {"best", runs::direction_word(best.lower_is_better)}});
  json["lowest"] = run.lowest;
  json["settings"] = Json::object();
  for (const auto& [name, value] : settings_of(folder, path)) json["settings"][name] = value;
  json["net"] = runs::line_differences(first_net, net_text(folder, path));
  return json;
}

Json compare(const Folder& folder, const Request& request) {
  const std::vector<std::string> paths = texts_in(request.body(), "paths");
  if (paths.empty() || paths.size() > kMaxCompared)
    throw RequestError(Refusal::kInvalid, "paths must name 1 to " + std::to_string(kMaxCompared) + " runs");
  for (const std::string& path : paths)
    if (path.empty() || !folder.has(path + "/run.json"))
      throw RequestError(Refusal::kNotFound, "'" + path + "' is not a run");
  const std::string first_net = net_text(folder, paths[0]);
  Json list = Json::array();
  for (const std::string& path : paths) list.push_back(json_of(folder, path, first_net));
  return list;
}

}  // namespace

Routes comparison_routes(Workplace& place) {
  return {{"POST", "/api/runs/compare",
           [&](const Request& request) { return json_reply(compare(place.folder, request)); }}};
}

}  // namespace cortado::studio
