#include "tools/report/test_results.h"

#include <chrono>
#include <map>
#include <optional>

#include "core/error.h"
#include "net/epoch.h"
#include "tools/infer/class_names.h"
#include "tools/net/frozen_net.h"
#include "tools/report/detected_images.h"
#include "tools/report/judged_samples.h"
#include "tools/train/test_report.h"

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMaxSeconds = 60;
constexpr size_t kCurvePoints = 200;

/// The precision-recall curve of each class that has objects, with at most kCurvePoints points.
Json detection_json(const DetectionTally& tally, ApVersion version, const std::map<int, std::string>& names) {
  Json classes = Json::array();
  for (int64_t c = 0; c < tally.classes(); ++c) {
    if (!tally.has_objects(c)) continue;
    const std::vector<PrecisionRecall> curve = tally.curve(c);
    const size_t step = curve.size() / kCurvePoints + 1;
    Json points = Json::array();
    for (size_t i = 0; i < curve.size(); ++i)
      if (i % step == 0 || i + 1 == curve.size()) points.push_back({curve[i].recall, curve[i].precision});
    classes.push_back({{"class", c},
                       {"name", name_or_class(names, int(c))},
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

/// A test of a net, and what it collects for the report.
class ReportedTest {
 public:
  ReportedTest(const std::shared_ptr<const NetFile>& file, const std::string& weights, graph::BuildOptions options,
               Context& context)
      : context_(context),
        judged_(find_judged(file->net, options.state)),
        detector_(find_detector(file->net, options.state)) {
    if (judged_.known()) options.keep = {judged_.data, judged_.scores, judged_.labels};
    if (detector_.reader) options.keep = {detector_.images, detector_.objects, detector_.detections};
    whole_ = std::make_unique<Watched>(make_frozen_net(file, options, {weights}, context));
    records_ = records_if_known(whole_->net->plan().graph);
    report_.emplace(TestReport{.batches = 0, .samples = 0, .scores = ScoreSums(whole_->outputs)});
    detects_ = !report_->scores.detections().empty();
    if (!has_results()) return;
    tail_ = make_watched_tail(file, options, *whole_, records_);
    report_->classifications = whole_->watch.none_yet();
    const Net& net = *whole_->net;
    if (judged_.known() && !detector_.reader && JudgedSamples::fit(judged_, net)) samples_.emplace(judged_, net);
    if (detects_ && detector_.reader) detected_.emplace(detector_, net);
  }

  /// Whether the net is a classifier or a detector with a dataset.
  bool has_results() const {
    return (whole_->watch.size() > 0 || detects_) && whole_->net->batch_size() > 0 && records_ > 0;
  }

  /// Runs each record once, or as many as in a minute.
  void run() {
    const int64_t whole = records_ / whole_->net->batch_size(), batches = whole + int64_t(tail_ != nullptr);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kMaxSeconds);
    for (; report_->batches < batches && std::chrono::steady_clock::now() < end; ++context_.pass, ++report_->batches)
      run_batch(report_->batches < whole ? *whole_ : *tail_);
    if (report_->batches < batches)
      limit_ = "the test stops after a minute";
    else if (report_->samples < records_)
      limit_ = "the last ones do not fill a batch";
  }

  Json json(const std::string& weights) {
    for (const Classification& of : report_->classifications)
      report_->names.push_back(class_names("", whole_->net->plan().graph, of.confusion.classes()));
    Json out = json_of(*report_);
    out["weights"] = weights;
    out["records"] = records_;
    out["limit"] = limit_;
    if (samples_) samples_->write(report_->names.back(), out);
    const std::map<int, std::string> names = detector_.reader ? object_names(detector_) : std::map<int, std::string>();
    if (detects_) {
      const DetectionTally& tally = report_->scores.detections()[0].tally;
      const ApVersion version = report_->scores.ap_version();
      out["mean_average_precision"] = tally.mean(version);
      out["detection"] = detection_json(tally, version, names);
    }
    if (detected_) detected_->write(names, out);
    return out;
  }

 private:
  void run_batch(Watched& now) {
    now.net->forward();
    const double loss = now.net->loss();
    now.outputs.read();  // may overwrite blobs
    report_->scores.add(now.outputs, loss, double(now.net->batch_size()));
    now.watch.add_to(report_->classifications);
    if (samples_) samples_->add_batch(*now.net);
    if (detected_) detected_->add_batch(*now.net);
    report_->samples += now.net->batch_size();
  }

  Context& context_;
  const JudgedBlobs judged_;
  const DetectorBlobs detector_;
  std::unique_ptr<Watched> whole_, tail_;
  int64_t records_ = 0;
  std::optional<TestReport> report_;
  bool detects_ = false;
  std::string limit_;
  std::optional<JudgedSamples> samples_;
  std::optional<DetectedImages> detected_;
};

}  // namespace

Json test_results(const SolverNetFile& net, const std::string& weights, int64_t skip_bad, Context& context) {
  graph::BuildOptions options;
  options.skip_bad = skip_bad;
  options.state = net.options.state;
  ReportedTest test(net.file, weights, options, context);
  if (!test.has_results()) return {};
  test.run();
  return test.json(weights);
}

}  // namespace cortado::tools
