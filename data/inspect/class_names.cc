#include "data/inspect/class_names.h"

#include <cstring>

#include "core/rng.h"
#include "data/formats/labels.h"
#include "data/formats/text.h"
#include "data/lmdb/dataset_names.h"

namespace cortado::data {

namespace {

const char* names_part(bool objects) { return objects ? kLabelMapPart : kLabelsPart; }

std::map<int32_t, std::string> names_in_file(const std::string& file, bool objects) {
  std::map<int32_t, std::string> names;
  if (file.empty()) return names;
  if (objects) return shown_names(read_label_map(file));
  for (const std::string& name : read_labels(file)) names.emplace(int32_t(names.size()), name);
  return names;
}

}  // namespace

std::map<int32_t, std::string> class_names_of(const std::string& dataset, bool objects) {
  return names_in_file(names_file_of(dataset, names_part(objects)), objects);
}

std::string names_conflict(const std::string& one, const std::string& other) {
  for (const bool objects : {false, true}) {
    const auto names = names_in_file(own_names_file_of(one, names_part(objects)), objects);
    const auto others = names_in_file(own_names_file_of(other, names_part(objects)), objects);
    for (const auto& [label, name] : names) {
      const auto found = others.find(label);
      if (found == others.end() || found->second == name) continue;
      return "label " + std::to_string(label) + " is '" + printable(name) + "' in " + one + " and '" +
             printable(found->second) + "' in " + other;
    }
  }
  return "";
}

uint64_t pixel_digest(const Sample& sample) {
  const auto* bytes = sample.bytes ? sample.bytes : reinterpret_cast<const uint8_t*>(sample.floats);
  const size_t n = size_t(sample.count()) * (sample.bytes ? 1 : sizeof(float));
  uint64_t digest = mix_key(uint64_t(sample.channels), mix_key(uint64_t(sample.height), uint64_t(sample.width)));
  size_t at = 0;
  for (uint64_t word; at + sizeof word <= n; at += sizeof word) {
    std::memcpy(&word, bytes + at, sizeof word);
    digest = mix_key(digest, word);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, bytes + at, n - at);
  return mix_key(digest, rest);
}

bool is_near_black(const Sample& sample) {
  constexpr uint8_t kBlack = 16;
  if (sample.bytes == nullptr || sample.count() == 0) return false;
  const int64_t n = sample.count(), most = n / 1000;
  int64_t bright = 0;
  for (int64_t i = 0; i < n && bright <= most; ++i) bright += sample.bytes[i] >= kBlack;
  return bright <= most;
}

}  // namespace cortado::data
