#include "tools/report/test_results.h"

#include <chrono>
#include <optional>

#include "net/epoch.h"
#include "tools/infer/class_names.h"
#include "tools/net/frozen_net.h"
#include "tools/report/detected_images.h"
#include "tools/report/judged_samples.h"
#include "tools/train/test_report.h"

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

/// A net that is tested, and who looks at what it gives.
struct Watched {
  explicit Watched(std::unique_ptr<Net> made) : net(std::move(made)), watch(*net), outputs(*net) {}

  std::unique_ptr<Net> net;
  ClassWatch watch;
  OutputReader outputs;
};

/// Of the records that fill no batch; null where there are none, or where outputs have a value for each sample.
std::unique_ptr<Watched> make_watched_tail(const std::shared_ptr<const NetFile>& file,
                                           const graph::BuildOptions& options, Watched& whole, int64_t records) {
  if (records % whole.net->batch_size() == 0) return nullptr;
  auto tail = std::make_unique<Watched>(make_frozen_tail(file, options, *whole.net, records));
  for (size_t k = 0; k < whole.net->outputs().size(); ++k)
    if (whole.net->outputs()[k].scores() != tail->net->outputs()[k].scores()) return nullptr;
  return tail;
}

}  // namespace

Json test_results(std::shared_ptr<const NetFile> file, const std::string& weights, Context& context) {
  graph::BuildOptions options;
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
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kMostSeconds);
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
