#include "tools/report/judged_samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/graph.h"
#include "layers/registry.h"
#include "layers/type_names.h"
#include "tools/infer/class_names.h"

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kGuesses = 3;

/// The probabilities of a sample's classes: its scores, or their softmax if they are not probabilities.
std::vector<double> shares_of(const float* scores, int64_t classes) {
  if (is_distribution(scores, size_t(classes))) return {scores, scores + classes};
  std::vector<double> shares = softmax(scores, size_t(classes));
  for (double& share : shares)
    if (!std::isfinite(share)) share = 0;
  return shares;
}

/// The likeliest classes. They are ordered by score, because a softmax can round different scores to one probability.
std::vector<Prediction> guesses_of(const float* scores, const std::vector<double>& shares) {
  const auto score = [&](int64_t c) { return std::isnan(scores[c]) ? -INFINITY : scores[c]; };
  std::vector<int64_t> order(shares.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t count = std::min(kGuesses, order.size());
  std::partial_sort(order.begin(), order.begin() + int64_t(count), order.end(),
                    [&](int64_t a, int64_t b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
  std::vector<Prediction> guesses;
  for (size_t k = 0; k < count; ++k) guesses.push_back({order[k], shares[size_t(order[k])]});
  return guesses;
}

Json samples_json(const Foremost<JudgedSample>& samples, const std::vector<std::string>& names) {
  Json out = Json::array();
  const auto name = [&](int64_t c) { return names.empty() ? std::to_string(c) : names[size_t(c)]; };
  for (const auto& [rank, sample] : samples.items()) {
    Json guesses = Json::array();
    for (const Prediction& guess : sample.guesses) guesses.push_back({name(guess.label), guess.probability});
    out.push_back({{"record", sample.number},
                   {"truth", name(sample.truth)},
                   {"probability", sample.right},
                   {"guesses", guesses},
                   {"image", sample.image}});
  }
  return out;
}

/// Whether the layer is a loss that compares the largest score with a class.
bool is_of_classes(const caffe::LayerParameter& layer) {
  const LossRole* role = find_loss_role(layer.type());
  return role && role->answer == type_names::kSoftmax;
}

}  // namespace

JudgedBlobs find_judged(const caffe::NetParameter& net, const caffe::NetState& state) {
  JudgedBlobs judged;
  for (const caffe::LayerParameter& layer : net.layer()) {
    if (!graph::selected(layer, state)) continue;
    if (!judged.reader && layer.bottom_size() == 0 && layer.top_size() == 2) {
      judged.reader = &layer;
      judged.data = layer.top(0);
    }
    const bool judges = kind_of(layer.type()) == LayerKind::kScore || (judged.scores.empty() && is_of_classes(layer));
    if (!judges || layer.bottom_size() < 2) continue;
    judged.scores = layer.bottom(0);
    judged.labels = layer.bottom(1);
  }
  return judged;
}

JudgedSamples::JudgedSamples(const JudgedBlobs& judged, const Net& net)
    : judged_(judged), images_(*judged.reader, net.blob_shape(judged.data)) {}

bool JudgedSamples::fit(const JudgedBlobs& judged, const Net& net) {
  const Shape data = net.blob_shape(judged.data), scores = net.blob_shape(judged.scores),
              labels = net.blob_shape(judged.labels);
  return data.axes() > 0 && scores.axes() >= 2 && scores[0] == data[0] && scores.count() == scores[0] * scores[1] &&
         labels.count() == data[0];
}

void JudgedSamples::add_batch(const Net& net) {
  const std::vector<float> scores = net.read_blob(judged_.scores), labels = net.read_blob(judged_.labels);
  const int64_t batch = int64_t(labels.size()), classes = int64_t(scores.size()) / batch;
  std::vector<float> data;
  for (int64_t i = 0; i < batch; ++i, ++number_) {
    const int64_t truth = std::llround(labels[size_t(i)]);
    if (truth < 0 || truth >= classes) continue;
    const float* const row = scores.data() + i * classes;
    const std::vector<double> shares = shares_of(row, classes);
    JudgedSample sample{number_, truth, shares[size_t(truth)], guesses_of(row, shares), {}};
    const bool is_right = sample.guesses[0].label == truth;
    const double confidence = sample.guesses[0].probability, rank = is_right ? -confidence : confidence;
    calibration_.add(float(confidence), is_right);
    ++(is_right ? right_total_ : wrong_total_);
    Foremost<JudgedSample>& kept = is_right ? unsure_ : wrong_;
    if (!kept.wants(rank)) continue;
    if (data.empty()) data = net.read_blob(judged_.data);
    if (images_.can_show()) sample.image = images_.show(data.data() + int64_t(data.size()) / batch * i);
    kept.add(rank, std::move(sample));
  }
}

void JudgedSamples::write(const std::vector<std::string>& names, Json& to) const {
  to["calibration"] = calibration_.json();
  to["wrong"] = samples_json(wrong_, names);
  to["wrong_total"] = wrong_total_;
  to["unsure"] = samples_json(unsure_, names);
  to["right_total"] = right_total_;
}

}  // namespace cortado::tools
