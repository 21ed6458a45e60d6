#include "tools/report/comparison_page.h"

#include "tools/report/curves.h"
#include "tools/report/page.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_scores.h"

extern const char cortado_comparison_script[];
extern const unsigned long cortado_comparison_script_size;

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

Json values_json(const std::string& name, const std::vector<std::string>& values) {
  return {{"name", name}, {"values", values}};
}

Json score_json(const runs::ScoreDifference& score) {
  Json values = Json::array();
  for (const std::optional<double>& value : score.values) values.push_back(value ? Json(*value) : Json());
  return {{"name", score.name},
          {"best", runs::direction_word(score.lower_is_better)},
          {"values", values},
          {"a", values[0]},
          {"b", values[1]}};
}

}  // namespace

Json comparison_json(const runs::RunComparison& comparison) {
  Json out = {{"runs", comparison.runs}, {"scores", Json::array()}, {"settings", Json::array()},
              {"layers", Json::array()}, {"facts", Json::array()},  {"files", Json::array()}};
  for (const runs::ScoreDifference& score : comparison.scores) out["scores"].push_back(score_json(score));
  for (const runs::ValueDifference& one : comparison.settings)
    out["settings"].push_back(values_json(one.name, one.values));
  for (const runs::LayerDifference& one : comparison.layers)
    out["layers"].push_back({{"net", one.net}, {"layer", one.layer}, {"field", one.field}, {"values", one.values}});
  for (const runs::ValueDifference& one : comparison.facts) {
    Json& fact = out["facts"].emplace_back(values_json(one.name, one.values));
    fact["a"] = one.values[0];
    fact["b"] = one.values[1];
  }
  for (const runs::FileDifference& file : comparison.files)
    out["files"].push_back({{"file", file.name}, {"lines", file.lines}});
  return out;
}

std::string comparison_page(const runs::RunComparison& comparison) {
  Json numbers = comparison_json(comparison);
  numbers.erase("files");
  numbers["summary"] = runs::summary_of(comparison.layers);
  numbers["curves"] = Json::array();
  for (const std::string& run : comparison.runs)
    numbers["curves"].push_back(curves_of(runs::read_metrics(runs::RunPaths(run).metrics)));
  return self_contained_page("Comparison of runs", {cortado_comparison_script, cortado_comparison_script_size},
                             numbers);
}

}  // namespace cortado::tools
