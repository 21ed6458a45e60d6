#include "tools/runs/metrics_file.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/json.h"
#include "tools/runs/run_file.h"
#include "tools/runs/run_scores.h"

namespace cortado::runs {

namespace {

constexpr size_t kMaxMetricsLine = 1 << 20;

double number_of(const nlohmann::json& json) {
  if (json.is_number()) return json.get<double>();
  const std::string text = json.is_string() ? json.get<std::string>() : "";
  if (text == "Inf") return std::numeric_limits<double>::infinity();
  if (text == "-Inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

double number_at(const nlohmann::json& json, const char* key) { return json.contains(key) ? number_of(json[key]) : 0; }

int64_t integer_at(const nlohmann::json& json, const char* key) {
  const double value = number_at(json, key);
  return std::isfinite(value) && std::abs(value) < 1e15 ? int64_t(value) : 0;
}

std::string text_at(const nlohmann::json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
}

void read_lists(const nlohmann::json& json, MetricRow& row) {
  if (json.contains("outputs") && json["outputs"].is_object())
    for (const auto& [name, value] : json["outputs"].items()) row.outputs.emplace_back(name, number_of(value));
  if (!json.contains("scores") || !json["scores"].is_array()) return;
  for (const nlohmann::json& score : json["scores"])
    if (score.is_object() && !text_at(score, "name").empty())
      row.scores.push_back({.name = text_at(score, "name"),
                            .lower_is_better = text_at(score, "best") == direction_word(true),
                            .is_main = score.contains("main") && score["main"] == true});
}

std::optional<MetricRow> row_of(std::string_view line) {
  if (line.size() > kMaxMetricsLine) return std::nullopt;
  const auto json = parse_json_or_null<nlohmann::json>(line);
  if (!json.is_object()) return std::nullopt;
  MetricRow row;
  row.time = number_at(json, "t");
  row.event = text_at(json, "ev");
  row.iter = integer_at(json, "iter");
  row.max_iter = integer_at(json, "max_iter");
  row.loss = number_at(json, "loss");
  row.rate = number_at(json, "lr");
  row.images_per_second = number_at(json, "img_s");
  row.data_wait = number_at(json, "data_wait");
  row.resident_bytes = number_at(json, "rss");
  row.net = int(integer_at(json, "net"));
  for (const char* key : {"text", "path", "from"})
    if (row.text.empty()) row.text = text_at(json, key);
  row.early = json.contains("early") && json["early"] == true;
  read_lists(json, row);
  return row;
}

/// An iteration is displayed before its update, and tested before the next one, so those rows of `start` repeat. A
/// snapshot of `start` is the one that the run resumes from.
bool is_done_again(const MetricRow& row, int64_t start) {
  if (row.event == "train" || row.event == "test") return row.iter >= start;
  return row.event == "snapshot" && row.iter > start;
}

}  // namespace

std::vector<MetricRow> metrics_in(std::string_view text) {
  std::vector<MetricRow> rows;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    std::optional<MetricRow> row = row_of(line);
    if (!row) continue;
    if (row->event == "run_start")
      std::erase_if(rows, [&](const MetricRow& earlier) { return is_done_again(earlier, row->iter); });
    rows.push_back(std::move(*row));
  }
  return rows;
}

std::vector<MetricRow> read_metrics(const std::string& path) { return metrics_in(read_run_file_if_any(path)); }

}  // namespace cortado::runs
