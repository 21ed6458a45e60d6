#include "tools/report/report.h"

#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "core/files/file.h"
#include "core/log.h"
#include "core/text/json.h"
#include "net/epoch.h"
#include "solvers/snapshot.h"
#include "solvers/snapshot_files.h"
#include "tools/infer/class_names.h"
#include "tools/net/frozen_net.h"
#include "tools/net/step_timing.h"
#include "tools/options/run_source.h"
#include "tools/report/detected_images.h"
#include "tools/report/judged_samples.h"
#include "tools/runs/resolved_files.h"
#include "tools/runs/run_comparison.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_list.h"
#include "tools/runs/run_record.h"
#include "tools/train/test_report.h"

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kTimedIterations = 5, kMaxSolver = 1 << 20;

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

/// The resolved solver as text; null if it cannot be read.
Json solver_text_of(const runs::RunPaths& paths) {
  try {
    return read_file(paths.solver, kMaxSolver);
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

/// The differences from the run that was started before this one in the same folder.
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

Json layer_times(const SolverConfig& config, const SolverOptions& options, Context& context) {
  SolverNetReader reader(config, options, context);
  const SolverNetFile wanted = reader.train();
  const std::unique_ptr<Net> net = make_net(wanted.file, wanted.options, context);
  const Roofline roof(context.threads);
  return json_of(*net, time_net(*net, kTimedIterations, 1), roof);
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
  report["test"] = attempted("the test", notes, [&]() -> Json {
    SolverNetReader reader(*config, options, context);
    if (weights.empty() || reader.test_count() == 0) return {};
    return test_results(reader.test(0).file, weights, skip_bad, context);
  });
  report["times"] = attempted("the times of layers", notes, [&] { return layer_times(*config, options, context); });
}

}  // namespace

Json report_of(const std::string& folder, Context* context, int64_t skip_bad) {
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
  if (context) add_computed(paths, *context, skip_bad, report);
  return report;
}

void write_report(const std::string& run, Context* context, int64_t skip_bad) {
  write_file_atomically(runs::RunPaths(run).report, report_page(report_of(run, context, skip_bad)));
}

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
  if (!file_exists(path)) return looks;
  std::istringstream text(read_file(path));
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
        tests[(row.net > 0 ? "#" + std::to_string(row.net) + " " : "") + name].points.emplace_back(row.iter, value);
  }
  return {{"training", curves_json(training)}, {"outputs", curves_json(outputs)}, {"tests", curves_json(tests)}};
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

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMaxSeconds = 60;
constexpr size_t kCurvePoints = 200;

/// The precision-recall curve of each class that has objects, with at most kCurvePoints points.
Json detection_json(const DetectionTally& tally, ApVersion version) {
  Json classes = Json::array();
  for (int64_t c = 0; c < tally.classes(); ++c) {
    if (!tally.has_objects(c)) continue;
    const std::vector<PrecisionRecall> curve = tally.curve(c);
    const size_t step = curve.size() / kCurvePoints + 1;
    Json points = Json::array();
    for (size_t i = 0; i < curve.size(); ++i)
      if (i % step == 0 || i + 1 == curve.size()) points.push_back({curve[i].recall, curve[i].precision});
    classes.push_back({{"class", c},
                       {"objects", tally.objects(c)},
                       {"average_precision", tally.average_precision(c, version)},
                       {"curve", points}});
  }
  return classes;
}

/// A net under test with the readers of its results.
struct Watched {
  explicit Watched(std::unique_ptr<Net> made) : net(std::move(made)), watch(*net), outputs(*net) {}

  std::unique_ptr<Net> net;
  ClassWatch watch;
  OutputReader outputs;
};

/// For the records that do not fill a batch. Null if there are none, or if outputs have a value for each sample.
std::unique_ptr<Watched> make_watched_tail(const std::shared_ptr<const NetFile>& file,
                                           const graph::BuildOptions& options, Watched& whole, int64_t records) {
  if (records % whole.net->batch_size() == 0) return nullptr;
  auto tail = std::make_unique<Watched>(make_frozen_tail(file, options, *whole.net, records));
  for (size_t k = 0; k < whole.net->outputs().size(); ++k)
    if (whole.net->outputs()[k].scores() != tail->net->outputs()[k].scores()) return nullptr;
  return tail;
}

}  // namespace

Json test_results(std::shared_ptr<const NetFile> file, const std::string& weights, int64_t skip_bad, Context& context) {
  graph::BuildOptions options;
  options.skip_bad = skip_bad;
  options.state.set_phase(caffe::TEST);
  const JudgedBlobs judged = find_judged(file->net, options.state);
  const DetectorBlobs detector = find_detector(file->net, options.state);
  if (judged.known()) options.keep = {judged.data, judged.scores, judged.labels};
  if (detector.reader) options.keep = {detector.images, detector.objects, detector.detections};
  Watched whole(make_frozen_net(file, options, {weights}, context));
  const Net* const net = whole.net.get();
  const int64_t records = records_if_known(net->plan().graph), batch = net->batch_size();
  TestReport report{.batches = 0, .samples = 0, .scores = ScoreSums(whole.outputs)};
  const bool detects = !report.scores.detections().empty();
  if ((whole.watch.size() == 0 && !detects) || batch == 0 || records == 0) return {};
  const std::unique_ptr<Watched> tail = make_watched_tail(file, options, whole, records);
  const int64_t batches = records / batch + int64_t(tail != nullptr);
  report.classifications = whole.watch.none_yet();
  std::optional<JudgedSamples> samples;
  std::optional<DetectedImages> detected;
  if (judged.known() && !detector.reader && JudgedSamples::fit(judged, *net)) samples.emplace(judged, *net);
  if (detects && detector.reader) detected.emplace(detector, *net);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kMaxSeconds);
  for (; report.batches < batches && std::chrono::steady_clock::now() < end; ++context.pass, ++report.batches) {
    Watched& now = report.batches < records / batch ? whole : *tail;
    now.net->forward();
    now.outputs.read();
    report.scores.add(now.outputs, now.net->loss(), double(now.net->batch_size()));
    now.watch.add_to(report.classifications);
    if (samples) samples->add_batch(*now.net);
    if (detected) detected->add_batch(*now.net);
    report.samples += now.net->batch_size();
  }
  for (const Classification& of : report.classifications)
    report.names.push_back(class_names("", net->plan().graph, of.confusion.classes()));
  Json out = json_of(report);
  out["weights"] = weights;
  out["records"] = records;
  if (samples) samples->write(report.names.back(), out);
  if (detects) out["detection"] = detection_json(report.scores.detections()[0].tally, report.scores.ap_version());
  if (detected) out["images"] = detected->json();
  return out;
}

}  // namespace cortado::tools
