#include "solvers/scores.h"

#include <algorithm>
#include <cmath>

#include "core/device/device_memory.h"
#include "core/log.h"

namespace cortado {

OutputReader::OutputReader(Net& net, ApVersion version) : net_(net), version_(version) {
  const graph::Graph& graph = net.plan().graph;
  for (const NetOutput& output : net.outputs()) {
    const size_t count = size_t(output.shape.count());
    const graph::Value& value = graph.value(output.value);
    Layer* layer = graph.node(value.producer).layer.get();
    // Only tests combine scores over several batches.
    const auto* scoring = graph.options.backward ? nullptr : layer->roles().scoring;
    const bool lists = output.detection_classes > 0;
    outputs_.push_back(
        {std::vector<float>(count), {}, lists ? nullptr : scoring, size_t(value.producer_output), lists});
    if (outputs_.back().scoring) outputs_.back().sums.resize(2 * count);
    if (lists) detections_.push_back({scores_.size(), DetectionTally(output.detection_classes)});
    for (int64_t k = 0; k < output.scores(); ++k) scores_.push_back({output.name, 0, output.loss_weight});
  }
  parts_.resize(scores_.size());
}

const std::vector<Score>& OutputReader::read() {
  size_t at = 0;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    std::vector<float>& values = outputs_[i].values;
    net_.read_blob_to(net_.outputs()[i].value, values.data());
    const size_t first = at;
    if (outputs_[i].detections) {
      read_detections(outputs_[i], at++);
      continue;
    }
    for (const float value : values) scores_[at++].value = value;
    if (outputs_[i].scoring) read_parts(outputs_[i], first);
  }
  explain_nan();
  return scores_;
}

void OutputReader::read_detections(const Output& output, size_t score) {
  for (DetectionScore& of : detections_) {
    if (of.score != score) continue;
    of.tally.clear();
    of.tally.add(output.values.data(), int64_t(output.values.size()) / kJudgedWidth);
    scores_[score].value = of.tally.mean(version_);
  }
}

/// Says what makes the first score NaN. For a training net the loop checks the loss. On devices, labels were not
/// checked before the scores were computed, so all layers run again.
void OutputReader::explain_nan() {
  const graph::BuildOptions& options = net_.plan().graph.options;
  if (explained_ || options.backward) return;
  const auto bad = std::ranges::find_if(scores_, [](const Score& score) { return std::isnan(score.value); });
  if (bad == scores_.end()) return;
  explained_ = true;
  const NotFinite first = net_.context().shares_host_memory() ? net_.first_not_finite_given() : net_.first_not_finite();
  if (!first.where.empty())
    log_warning() << "the first score that is nan is '" << bad->name << "'; first in " << first.where
                  << (first.record.empty() ? "" : "; " + first.record);
}

void OutputReader::read_parts(Output& output, size_t first) {
  const Ratio quotient = output.scoring->quotient(output.top);
  const size_t count = output.values.size();
  if (quotient.sums)
    copy_to_host(net_.context(), output.sums.data(), quotient.sums, output.sums.size() * sizeof(float));
  for (size_t k = 0; k < count; ++k) {
    ScoreParts& parts = parts_[first + k];
    parts.known = quotient.sums || quotient.fixed > 0;
    parts.numerator = quotient.sums ? output.sums[k] : output.values[k] * quotient.fixed;
    parts.denominator = quotient.sums ? output.sums[count + k] : quotient.fixed;
  }
}

void OutputReader::pack(std::vector<double>& words) const {
  for (const Score& score : scores_) words.push_back(score.value);
  for (const ScoreParts& parts : parts_)
    words.insert(words.end(), {parts.numerator, parts.denominator, double(parts.known)});
  for (const DetectionScore& of : detections_) of.tally.pack(words);
}

const double* OutputReader::unpack(const double* words) {
  for (Score& score : scores_) score.value = *words++;
  for (ScoreParts& parts : parts_) {
    parts = {words[0], words[1], words[2] != 0};
    words += 3;
  }
  for (DetectionScore& of : detections_) words = of.tally.unpack(words);
  return words;
}

ScoreSums::ScoreSums(const OutputReader& outputs)
    : means_(outputs.scores()),
      exact_(outputs.scores()),
      parts_(outputs.scores().size()),
      version_(outputs.ap_version()),
      detections_(outputs.detections()) {
  clear();
}

void ScoreSums::clear() {
  std::fill(sums_.begin(), sums_.end(), 0.0);
  std::fill(parts_.begin(), parts_.end(), ScoreParts());
  for (DetectionScore& of : detections_) of.tally.clear();
  loss_ = shares_ = 0;
}

void ScoreSums::add(const OutputReader& batch, double loss, double share) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    sums_[i] += batch.scores()[i].value * share;
    const ScoreParts& parts = batch.parts()[i];
    parts_[i].numerator += parts.numerator;
    parts_[i].denominator += parts.denominator;
    parts_[i].known = parts_[i].known || parts.known;
  }
  for (size_t k = 0; k < detections_.size(); ++k) detections_[k].tally.add(batch.detections()[k].tally);
  loss_ += loss * share;
  shares_ += share;
}

const std::vector<Score>& ScoreSums::means() {
  for (size_t i = 0; i < sums_.size(); ++i) means_[i].value = shares_ > 0 ? sums_[i] / shares_ : 0;
  for (const DetectionScore& of : detections_) means_[of.score].value = of.tally.mean(version_);
  return means_;
}

const std::vector<Score>& ScoreSums::exact() {
  means();
  for (size_t i = 0; i < sums_.size(); ++i) {
    const ScoreParts& parts = parts_[i];
    exact_[i].value = !parts.known || parts.denominator == 0 ? means_[i].value : parts.numerator / parts.denominator;
  }
  return exact_;
}

double ScoreSums::exact_loss() {
  exact();
  double loss = mean_loss();
  for (size_t i = 0; i < sums_.size(); ++i) loss += means_[i].loss_weight * (exact_[i].value - means_[i].value);
  return loss;
}

bool differ(double a, double b) { return std::abs(a - b) > 1e-5 * std::max(std::abs(a), std::abs(b)); }

std::string one_word(std::string name) {
  for (char& c : name)
    if (static_cast<unsigned char>(c) <= ' ' || c == 127) c = '_';
  return name;
}

std::string score_name(const std::vector<Score>& scores, size_t index) {
  const auto same = [&](const Score& score) { return score.name == scores[index].name; };
  const auto first = std::find_if(scores.begin(), scores.end(), same);
  if (std::count_if(scores.begin(), scores.end(), same) == 1) return scores[index].name;
  return scores[index].name + "[" + std::to_string(scores.begin() + long(index) - first) + "]";
}

void log_average_precisions(const std::vector<DetectionScore>& detections, ApVersion version) {
  for (const DetectionScore& of : detections)
    for (int64_t c = 0; c < of.tally.classes(); ++c)
      if (of.tally.has_objects(c)) log_info() << "class" << c << ": " << Shown{of.tally.average_precision(c, version)};
}

std::ostream& operator<<(std::ostream& out, Shown shown) {
  return std::isnan(shown.value) ? out << "nan" : out << shown.value;
}

void log_scores(const char* which, const std::vector<Score>& scores) {
  for (size_t i = 0; i < scores.size(); ++i) {
    const Score& score = scores[i];
    LogStream line = log_info();
    line << "    " << which << " net output #" << i << ": " << one_word(score.name) << " = " << Shown{score.value};
    if (score.loss_weight != 0)
      line << " (* " << score.loss_weight << " = " << Shown{score.loss_weight * score.value} << " loss)";
  }
}

}  // namespace cortado
