#include "data/convert/dataset_builder.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "core/rng.h"

namespace cortado::data {

namespace {
constexpr int64_t kMaxOfAKind = 20;
constexpr size_t kMaxKinds = 50;
constexpr int32_t kMaxLabels = 100000;
constexpr int64_t kTickEvery = 16;

/// Reasons that differ only in numbers and quoted words are of the same kind.
std::string kind_of(const std::string& reason) {
  std::string kind;
  bool quoted = false;
  for (const char c : reason) {
    const bool digit = c >= '0' && c <= '9';
    if (c == '\'') quoted = !quoted;
    if (!quoted && (!digit || kind.empty() || kind.back() != '#')) kind += digit ? '#' : c;
  }
  return kind;
}
}  // namespace

std::string number_key(int64_t number, int digits) {
  const std::string text = std::to_string(number);
  return std::string(size_t(std::max<int64_t>(0, digits - int64_t(text.size()))), '0') + text;
}

DatasetBuilder::DatasetBuilder(const ConvertOptions& options, int64_t total, DatasetNames names)
    : options_(options), writer_(options.output, options.force, std::move(names)), total_(total) {}

void DatasetBuilder::tick() {
  ++done_;
  if (options_.progress && done_ % kTickEvery == 0) options_.progress(done_, total_);
}

void DatasetBuilder::widen(const Sample& shape) {
  const bool first = report_.written == 0;
  const auto take = [&](int extent, int& least, int& most) {
    least = first ? extent : std::min(least, extent);
    most = std::max(most, extent);
  };
  take(shape.height, report_.least_height, report_.most_height);
  take(shape.width, report_.least_width, report_.most_width);
}

void DatasetBuilder::count(Label label, const Sample& shape) {
  if (report_.written == 0) {
    report_.channels = shape.channels;
    report_.height = shape.height;
    report_.width = shape.width;
  }
  widen(shape);
  report_.mixed_sizes |= shape.height != report_.height || shape.width != report_.width;
  report_.mixed_channels |= shape.channels != report_.channels;
  ++report_.written;
  if (label < 0 || label >= kMaxLabels || !is_class(label)) labels_countable_ = false;
  if (!labels_countable_) return report_.per_label.clear();
  if (size_t(label) >= report_.per_label.size()) report_.per_label.resize(size_t(label) + 1);
  ++report_.per_label[size_t(label)];
}

void DatasetBuilder::add(std::string_view key, std::string_view datum, Label label, const Sample& shape) {
  writer_.put(key, datum);
  report_.bytes += int64_t(datum.size());
  count(label, shape);
  tick();
}

void DatasetBuilder::reject(const std::string& file, int64_t line, const std::string& reason,
                            const std::string& image) {
  ++report_.rejected;
  const std::string name = kind_of(reason);
  Kind& kind = kinds_[kinds_.size() < kMaxKinds || kinds_.contains(name) ? name : ""];
  if (kind.count++ == 0) kind.first_reason = reason;
  if (kind.count <= kMaxOfAKind)
    report_.rejects.push_back({file, line, image.empty() ? reason : image + ": " + reason});
  else
    ++report_.untold[kind.first_reason];
  tick();
}

bool DatasetBuilder::may_keep() const {
  if (report_.written == 0) return false;
  const double bad = double(report_.rejected) / double(report_.written + report_.rejected);
  return report_.rejected == 0 ||
         (options_.skip_bad && bad <= options_.most_bad && report_.rejected <= options_.max_bad);
}

ConvertReport DatasetBuilder::finish() {
  if (options_.progress) options_.progress(done_, total_);
  if (report_.written == 0 && report_.rejected == 0)
    throw file_error(ExitCode::kData, options_.output, "no samples to convert");
  if (may_keep()) {
    writer_.commit();
    report_.kept = true;
  }
  return std::move(report_);
}

namespace {
constexpr uint64_t kSplitKey = 0x73706C69745F7E21ull;  // separates these draws from those of the order
}

std::vector<bool> choose_tests(const std::vector<int32_t>& labels, double share, uint64_t seed) {
  std::map<int32_t, std::vector<size_t>> of_label;
  for (size_t i = 0; i < labels.size(); ++i) of_label[labels[i]].push_back(i);
  std::vector<bool> tests(labels.size());
  for (auto& [label, places] : of_label) {
    const size_t n = places.size();
    if (n < 2) continue;
    const size_t wanted = std::clamp(size_t(std::llround(double(n) * share)), size_t(1), n - 1);
    RandomStream random(mix_key(mix_key(seed, kSplitKey), uint64_t(uint32_t(label))));
    for (size_t k = 0; k < wanted; ++k) {
      std::swap(places[k], places[k + random.below(n - k)]);
      tests[places[k]] = true;
    }
  }
  return tests;
}

}  // namespace cortado::data
