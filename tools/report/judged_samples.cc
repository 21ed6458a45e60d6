#include "tools/report/judged_samples.h"

#include <algorithm>
#include <cmath>

#include "graph/graph.h"
#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kGuesses = 3;

/// Converts the scores of one sample to probabilities, unless they are probabilities already.
void to_probabilities(std::vector<float>& scores) {
  double sum = 0;
  for (const float score : scores) sum += score >= 0 ? score : NAN;
  if (std::abs(sum - 1) < 1e-3) return;
  const float most = *std::max_element(scores.begin(), scores.end());
  sum = 0;
  for (float& score : scores) sum += score = std::exp(score - most);
  for (float& score : scores) score = float(score / sum);
}

Json extremes_json(const Extremes& extremes, const std::vector<std::string>& names) {
  Json out = Json::array();
  const auto name = [&](int64_t c) { return names.empty() ? std::to_string(c) : names[size_t(c)]; };
  for (const JudgedSample& sample : extremes.samples()) {
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
    JudgedSample sample{0, truth, number_, {scores.begin() + i * classes, scores.begin() + (i + 1) * classes}, {}};
    to_probabilities(sample.probabilities);
    sample.right = sample.probabilities[size_t(truth)];
    const auto best = std::max_element(sample.probabilities.begin(), sample.probabilities.end());
    const bool is_right = best - sample.probabilities.begin() == truth;
    calibration_.add(*best, is_right);
    Extremes& extremes = is_right ? best_ : worst_;
    if (!extremes.wants(sample.right)) continue;
    if (data.empty()) data = net.read_blob(judged_.data);
    if (images_.can_show()) sample.image = images_.show(data.data() + int64_t(data.size()) / batch * i);
    extremes.add(sample);
  }
}

void JudgedSamples::write(const std::vector<std::string>& names, Json& to) const {
  to["calibration"] = calibration_.json();
  to["worst"] = extremes_json(worst_, names);
  to["best"] = extremes_json(best_, names);
}

}  // namespace cortado::tools
