#include "tools/report/curves.h"

#include <cmath>
#include <map>
#include <sstream>

#include "core/files/file.h"
#include "core/text/json.h"
#include "tools/runs/run_file.h"
#include "tools/runs/run_scores.h"

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxPoints = 4000, kMaxLine = 16 << 20;

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

struct Curve {
  std::vector<std::pair<int64_t, double>> points;

  Json json() const {
    Json out = Json::array();
    const size_t step = (points.size() + kMaxPoints - 1) / kMaxPoints;
    for (size_t i = 0; i < points.size(); ++i)
      if (i % std::max<size_t>(step, 1) == 0 || i + 1 == points.size())
        out.push_back({points[i].first, number_or_null(points[i].second)});
    return out;
  }
};

using Curves = std::map<std::string, Curve>;

Json curves_json(const Curves& curves) {
  Json out = Json::object();
  for (const auto& [name, curve] : curves) out[name] = curve.json();
  return out;
}

void add_training(const runs::MetricRow& row, Curves& training, Curves& outputs) {
  training["loss"].points.emplace_back(row.iter, row.loss);
  training["rate"].points.emplace_back(row.iter, row.rate);
  if (row.images_per_second > 0) {
    training["img_s"].points.emplace_back(row.iter, row.images_per_second);
    training["data_wait"].points.emplace_back(row.iter, row.data_wait);
  }
  if (row.resident_bytes > 0) training["memory"].points.emplace_back(row.iter, row.resident_bytes);
  for (const auto& [name, value] : row.outputs) outputs[name].points.emplace_back(row.iter, value);
}

/// The statistics of layers by iteration. For an iteration that was repeated, the later line counts.
std::map<int64_t, Json> looks_in(const std::string& path) {
  std::map<int64_t, Json> looks;
  std::istringstream text(runs::read_run_file_if_any(path));
  for (std::string line; std::getline(text, line);) {
    if (line.size() > kMaxLine) continue;
    Json look = parse_json_or_null<Json>(line);
    if (!look.is_object() || !look.contains("iter") || !look["iter"].is_number_integer()) continue;
    if (look.contains("layers") && look["layers"].is_array()) looks[look["iter"].get<int64_t>()] = look["layers"];
  }
  return looks;
}

bool is_spread(const Json& json) { return json.is_object() && json.contains("norm") && json.contains("bins"); }

}  // namespace

Json curves_of(const std::vector<runs::MetricRow>& rows) {
  Curves training, outputs, tests;
  for (const runs::MetricRow& row : rows) {
    if (row.event == "train") add_training(row, training, outputs);
    if (row.event == "test")
      for (const auto& [name, value] : row.outputs)
        tests[name_in_tests(row.net, name)].points.emplace_back(row.iter, value);
  }
  return {{"training", curves_json(training)},
          {"outputs", curves_json(outputs)},
          {"tests", curves_json(tests)},
          {"lowest", runs::names_of_lowest(rows)}};
}

Json layer_curves(const std::string& path) {
  std::vector<std::string> order;
  std::map<std::string, Json> weights;
  for (const auto& [iter, layers] : looks_in(path))
    for (const Json& layer : layers) {
      if (!layer.is_object() || !layer.contains("name") || !layer["name"].is_string()) continue;
      if (!layer.contains("weights") || !is_spread(layer["weights"]) || !layer.contains("gradients")) continue;
      const std::string name = layer["name"].get<std::string>();
      Json& weight = weights[name];
      if (weight.is_null()) {
        order.push_back(name);
        weight = {{"name", name}, {"norms", Json::array()}, {"gradients", Json::array()}, {"first", layer["weights"]}};
      }
      weight["norms"].push_back({iter, layer["weights"]["norm"]});
      if (is_spread(layer["gradients"])) weight["gradients"].push_back({iter, layer["gradients"]["norm"]});
      weight["latest"] = layer["weights"];
    }
  Json out = Json::array();
  for (const std::string& name : order) out.push_back(weights[name]);
  return out;
}

}  // namespace cortado::tools
