#include "tools/report/test_results.h"

#include <chrono>
#include <optional>

#include "net/epoch.h"
#include "tools/class_names.h"
#include "tools/frozen_net.h"
#include "tools/report/detected_images.h"
#include "tools/report/judged_samples.h"
#include "tools/test_report.h"

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostSeconds = 60;
constexpr size_t kCurvePoints = 200;

/// Precision over recall of each class that has objects, at no more than kCurvePoints recalls.
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

}  // namespace

Json test_results(std::shared_ptr<const NetFile> file, const std::string& weights, Context& context) {
  graph::BuildOptions options;
  options.state.set_phase(caffe::TEST);
  const JudgedBlobs judged = find_judged(file->net, options.state);
  const DetectorBlobs detector = find_detector(file->net, options.state);
  if (judged.known()) options.keep = {judged.data, judged.scores, judged.labels};
  if (detector.reader) options.keep = {detector.images, detector.objects, detector.detections};
  const std::unique_ptr<Net> net = make_frozen_net(file, options, {weights}, context);
  ClassWatch watch(*net);
  OutputReader outputs(*net);
  const int64_t records = records_if_known(net->plan().graph), batch = net->batch_size();
  TestReport report{.batches = 0, .samples = 0, .scores = ScoreSums(outputs)};
  const bool detects = !report.scores.detections().empty();
  if ((watch.size() == 0 && !detects) || batch == 0 || records < batch) return {};
  report.classifications = watch.none_yet();
  std::optional<JudgedSamples> samples;
  std::optional<DetectedImages> detected;
  if (judged.known() && !detector.reader && JudgedSamples::fit(judged, *net)) samples.emplace(judged, *net);
  if (detects && detector.reader) detected.emplace(detector, *net);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kMostSeconds);
  for (; report.batches < records / batch && std::chrono::steady_clock::now() < end; ++context.pass) {
    net->forward();
    outputs.read();
    report.scores.add(outputs, net->loss(), 1);
    watch.add_to(report.classifications);
    if (samples) samples->add_batch(*net);
    if (detected) detected->add_batch(*net);
    ++report.batches;
    report.samples += batch;
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
