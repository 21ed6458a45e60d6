#include "tools/report/test_results.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>

#include "net/epoch.h"
#include "tools/class_names.h"
#include "tools/frozen_net.h"
#include "tools/report/detected_images.h"
#include "tools/report/shown_image.h"
#include "tools/test_report.h"

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostSeconds = 60;
constexpr size_t kShown = 32, kGuesses = 3, kBins = 15, kCurvePoints = 200;

/// The blobs that the net's scores are judged by, and the layer that reads the data.
struct Judged {
  std::string data, scores, labels;
  const caffe::LayerParameter* reader = nullptr;

  bool known() const { return reader && !scores.empty(); }
};

Judged find_judged(const caffe::NetParameter& net, const caffe::NetState& state) {
  Judged judged;
  for (const caffe::LayerParameter& layer : net.layer()) {
    if (!graph::selected(layer, state)) continue;
    if (!judged.reader && layer.bottom_size() == 0 && layer.top_size() == 2) {
      judged.reader = &layer;
      judged.data = layer.top(0);
    }
    const bool judges = layer.type() == "Accuracy" || (layer.type() == "SoftmaxWithLoss" && judged.scores.empty());
    if (!judges || layer.bottom_size() < 2) continue;
    judged.scores = layer.bottom(0);
    judged.labels = layer.bottom(1);
  }
  return judged;
}

/// The scores of one sample as probabilities: as they are where they are some already.
void to_probabilities(std::vector<float>& scores) {
  double sum = 0;
  for (const float score : scores) sum += score >= 0 ? score : NAN;
  if (std::abs(sum - 1) < 1e-3) return;
  const float most = *std::max_element(scores.begin(), scores.end());
  sum = 0;
  for (float& score : scores) sum += score = std::exp(score - most);
  for (float& score : scores) score = float(score / sum);
}

struct Sample {
  float right;  ///< the probability of its class
  int64_t truth, number;
  std::vector<float> probabilities;
  std::string image;
};

/// The samples with the least, or the greatest, probability of their class.
class Extremes {
 public:
  explicit Extremes(bool least) : least_(least) {}

  bool wants(float right) const { return samples_.size() < kShown || comes_first(right, samples_.back().right); }
  void add(const Sample& sample) {
    const auto at = std::find_if(samples_.begin(), samples_.end(),
                                 [&](const Sample& other) { return comes_first(sample.right, other.right); });
    samples_.insert(at, sample);
    if (samples_.size() > kShown) samples_.pop_back();
  }
  const std::vector<Sample>& samples() const { return samples_; }

 private:
  bool comes_first(float a, float b) const { return least_ ? a < b : a > b; }

  bool least_;
  std::vector<Sample> samples_;
};

/// How often the net is right among answers that it gives with about the same confidence.
class Calibration {
 public:
  void add(float confidence, bool right) {
    Bin& bin = bins_[std::min(kBins - 1, size_t(confidence * kBins))];
    ++bin.count;
    bin.right += right;
    bin.confidence += confidence;
  }

  /// The expected calibration error: the mean of |accuracy - confidence| over all samples, by bins.
  Json json() const {
    Json bins = Json::array();
    double error = 0, samples = 0;
    for (const Bin& bin : bins_) samples += double(bin.count);
    for (const Bin& bin : bins_) {
      const double n = double(bin.count), confidence = n > 0 ? bin.confidence / n : 0,
                   accuracy = n > 0 ? bin.right / n : 0;
      error += n * std::abs(accuracy - confidence) / std::max(1.0, samples);
      bins.push_back({{"confidence", confidence}, {"accuracy", accuracy}, {"count", bin.count}});
    }
    return {{"error", error}, {"bins", bins}};
  }

 private:
  struct Bin {
    int64_t count = 0;
    double right = 0, confidence = 0;
  };
  std::array<Bin, kBins> bins_;
};

/// What is looked at sample by sample.
class Samples {
 public:
  Samples(const Judged& judged, const Net& net)
      : judged_(judged), images_(*judged.reader, net.blob_shape(judged.data)) {}

  /// Where each sample has one row of scores and one label.
  static bool fit(const Judged& judged, const Net& net) {
    const Shape data = net.blob_shape(judged.data), scores = net.blob_shape(judged.scores),
                labels = net.blob_shape(judged.labels);
    return data.axes() > 0 && scores.axes() >= 2 && scores[0] == data[0] && scores.count() == scores[0] * scores[1] &&
           labels.count() == data[0];
  }

  void add_batch(const Net& net) {
    const std::vector<float> scores = net.read_blob(judged_.scores), labels = net.read_blob(judged_.labels);
    const int64_t batch = int64_t(labels.size()), classes = int64_t(scores.size()) / batch;
    std::vector<float> data;
    for (int64_t i = 0; i < batch; ++i, ++number_) {
      const int64_t truth = std::llround(labels[size_t(i)]);
      if (truth < 0 || truth >= classes) continue;
      Sample sample{0, truth, number_, {scores.begin() + i * classes, scores.begin() + (i + 1) * classes}, {}};
      to_probabilities(sample.probabilities);
      sample.right = sample.probabilities[size_t(truth)];
      const auto best = std::max_element(sample.probabilities.begin(), sample.probabilities.end());
      calibration_.add(*best, best - sample.probabilities.begin() == truth);
      if (!worst_.wants(sample.right) && !best_.wants(sample.right)) continue;
      if (data.empty()) data = net.read_blob(judged_.data);
      if (images_.can_show()) sample.image = images_.show(data.data() + int64_t(data.size()) / batch * i);
      if (worst_.wants(sample.right)) worst_.add(sample);
      if (best_.wants(sample.right)) best_.add(sample);
    }
  }

  void write(const std::vector<std::string>& names, Json& to) const {
    to["calibration"] = calibration_.json();
    to["worst"] = json_of(worst_, names);
    to["best"] = json_of(best_, names);
  }

 private:
  static Json json_of(const Extremes& extremes, const std::vector<std::string>& names) {
    Json out = Json::array();
    const auto name = [&](int64_t c) { return names.empty() ? std::to_string(c) : names[size_t(c)]; };
    for (const Sample& sample : extremes.samples()) {
      std::vector<std::pair<float, int64_t>> order;
      for (size_t c = 0; c < sample.probabilities.size(); ++c) order.emplace_back(-sample.probabilities[c], int64_t(c));
      const size_t shown = std::min(kGuesses, order.size());
      std::partial_sort(order.begin(), order.begin() + int64_t(shown), order.end());
      Json guesses = Json::array();
      for (size_t k = 0; k < shown; ++k) guesses.push_back({name(order[k].second), -order[k].first});
      out.push_back({{"record", sample.number},
                     {"truth", name(sample.truth)},
                     {"probability", sample.right},
                     {"guesses", guesses},
                     {"image", sample.image}});
    }
    return out;
  }

  const Judged& judged_;
  SampleImages images_;
  Calibration calibration_;
  Extremes worst_{true}, best_{false};
  int64_t number_ = 0;
};

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
  const Judged judged = find_judged(file->net, options.state);
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
  std::optional<Samples> samples;
  std::optional<DetectedImages> detected;
  if (judged.known() && !detector.reader && Samples::fit(judged, *net)) samples.emplace(judged, *net);
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
