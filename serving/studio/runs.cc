// Runs: the list, and the record, metrics and log of one run, with live updates.
#include "core/files/file.h"
#include "studio/workplace.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_record.h"

namespace cortado::studio {

namespace {

constexpr int64_t kPiece = 512 << 10, kLogPiece = 64 << 10, kMaxReport = 64 << 20, kMaxSolver = 1 << 20;

/// The complete lines of the file after offset `from`, and the offset of their end.
std::pair<std::string, int64_t> lines_from(const Folder& folder, const std::string& path, int64_t from, int64_t most) {
  if (!folder.has_file(path)) return {"", from};
  std::string text = folder.read_part(path, from, most);
  text.resize(text.rfind('\n') + 1);  // npos + 1 is 0
  return {text, from + int64_t(text.size())};
}

Json metrics(const Folder& folder, const Request& request) {
  const std::string path = request.parameter("path") + "/metrics.jsonl";
  folder.at(path);  // refuses links, which a missing file is not
  const auto [text, next] = lines_from(folder, path, request.number("from", 0), kPiece);
  return {{"text", text}, {"next", next}};
}

/// Whether the name is that of keep_best's weights.
bool is_best(const std::string& name) { return name.find("_best.caffemodel") != std::string::npos; }

/// The weights, the best first, then the newest.
Json snapshots_of(const Folder& folder, const std::string& path) {
  Json list = Json::array();
  if (!folder.has(path + "/snapshots")) return list;
  std::vector<Entry> entries = folder.list_if_readable(path + "/snapshots");
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return std::pair(is_best(a.name), a.changed) > std::pair(is_best(b.name), b.changed);
  });
  for (const Entry& entry : entries)
    if (entry.name.ends_with(".caffemodel") || entry.name.ends_with(".caffemodel.h5"))
      list.push_back(
          {{"name", entry.name}, {"bytes", entry.bytes}, {"changed", entry.changed}, {"best", is_best(entry.name)}});
  return list;
}

/// max_epoch of the run's solver; 0 if max_iter is the limit. The file has one field in a line.
int64_t max_epoch_of(const Folder& folder, const std::string& path) {
  constexpr std::string_view kField = "\nmax_epoch: ";
  if (!folder.has_file(path + "/solver.prototxt")) return 0;
  const std::string text = "\n" + folder.read_part(path + "/solver.prototxt", 0, kMaxSolver);
  const size_t at = text.find(kField);
  return at == std::string::npos ? 0
                                 : std::max<int64_t>(0, std::strtoll(text.c_str() + at + kField.size(), nullptr, 10));
}

Json detail(Workplace& place, const std::string& path) {
  const Folder& folder = place.folder;
  Json json = place.run_index.summary_of(path);
  const runs::RunRecord record = runs::read_record(folder.at(path + "/run.json"));
  json["command"] = record.command;
  json["weights"] = record.weights;
  json["max_epoch"] = max_epoch_of(folder, path);
  json["version"] = record.version;
  json["starts"] = Json::array();
  for (const runs::Start& start : record.starts)
    json["starts"].push_back({{"time", start.time}, {"from", start.from}, {"set", start.set}});
  json["snapshots"] = snapshots_of(folder, path);
  json["log_bytes"] = folder.has_file(path + "/log.txt") ? folder.size(path + "/log.txt") : 0;
  json["files"] = Json::array();
  for (const Entry& entry : folder.list(path))
    if (entry.name.ends_with(".prototxt")) json["files"].push_back(path + "/" + entry.name);
  return json;
}

/// Sends the list when it changes.
http::Reply follow_list(Workplace& place) {
  return place.feeds.add([&place, last = std::string(), tick = 0](http::BodyStream& stream) mutable {
    if (tick++ % 2 != 0) return true;
    std::string now = dump(place.run_index.list());
    if (now != last) Feeds::send(stream, "runs", now);
    last = std::move(now);
    return true;
  });
}

/// Sends new lines of the metrics and of the log, and the state when it changes.
http::Reply follow_run(Workplace& place, const Request& request) {
  const std::string path = request.parameter("path");
  place.run_index.summary_of(path);
  const int64_t log_bytes = place.folder.has_file(path + "/log.txt") ? place.folder.size(path + "/log.txt") : 0;
  int64_t at = request.header_number("Last-Event-ID", request.number("metrics", 0)),
          log_at = request.number("log", std::max<int64_t>(0, log_bytes - kLogPiece / 4));
  return place.feeds.add([&place, path, at, log_at, last = std::string()](http::BodyStream& stream) mutable {
    const Folder& folder = place.folder;
    const auto [text, next] = lines_from(folder, path + "/metrics.jsonl", at, kPiece);
    if (!text.empty()) Feeds::send(stream, "metrics", dump({{"text", text}, {"next", next}}), std::to_string(next));
    at = next;
    const auto [log, log_next] = lines_from(folder, path + "/log.txt", log_at, kLogPiece);
    if (!log.empty()) Feeds::send(stream, "log", dump({{"text", log}}));
    log_at = log_next;
    Json summary = place.run_index.summary_of(path);
    summary.erase("curve");
    std::string now = dump(summary);
    if (now != last) Feeds::send(stream, "state", now);
    last = std::move(now);
    return true;
  });
}

/// Makes sure that a path is not parsed as a flag.
std::string operand(const std::string& path) { return path.starts_with('-') ? "./" + path : path; }

/// The report of a training, or a preliminary one while it runs. It has its own styles and scripts, so it is served in
/// a sandbox.
http::Reply report(Workplace& place, const Request& request) {
  const std::string path = request.parameter("path");
  const bool is_running = place.run_index.summary_of(path)["process"] != 0;
  if (is_running || !place.folder.has(path + "/report.html")) place.run({"report", "--light", operand(path)});
  return {.body = place.folder.read(path + "/report.html", kMaxReport),
          .type = "text/html; charset=utf-8",
          .headers = {{"Content-Security-Policy",
                       "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
                       "frame-ancestors 'none'; base-uri 'none'; sandbox allow-scripts"}}};
}

}  // namespace

Routes run_routes(Workplace& place) {
  return {
      {"GET", "/api/runs", [&](const Request&) { return json_reply(place.run_index.list()); }},
      {"GET", "/api/runs/feed", [&](const Request&) { return follow_list(place); }},
      {"GET", "/api/run", [&](const Request& request) { return json_reply(detail(place, request.parameter("path"))); }},
      {"GET", "/api/run/metrics",
       [&place](const Request& request) { return json_reply(metrics(place.folder, request)); }},
      {"GET", "/api/run/feed", [&](const Request& request) { return follow_run(place, request); }},
      {"GET", "/api/run/report", [&](const Request& request) { return report(place, request); }},
  };
}

}  // namespace cortado::studio
