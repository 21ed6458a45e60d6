// Shards of WebDataset: archives in which files with the same name up to the first dot of the last path component form
// a sample. KEY.jpg is its image and KEY.cls its class. A key may occur again, for another sample.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/text.h"
#include "data/convert/class_folders.h"
#include "data/convert/convert_images.h"
#include "data/formats/text.h"
#include "data/image/image_formats.h"

namespace cortado::data {

namespace {

constexpr int64_t kMaxOfLabel = 4096;

std::string trimmed(std::string text) {
  const auto blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && blank(text.back())) text.pop_back();
  while (!text.empty() && blank(text.front())) text.erase(0, 1);
  return printable(without_bom(text));
}

struct ArchivedSample {
  std::string key;
  std::set<std::string> endings = {};
  std::optional<ArchiveMember> label = {};
  std::vector<ArchiveMember> images = {};
};

void add(ArchivedSample& sample, const ArchiveMember& member, const std::string& ending) {
  sample.endings.insert(ending);
  if (is_image_name("." + ending)) sample.images.push_back(member);
  if (ending == "cls") sample.label = member;
}

/// In WebDataset, successive members with a key form a sample, which ends before an ending that it already has.
std::vector<ArchivedSample> samples_in(const std::vector<ArchiveMember>& members, int64_t& skipped) {
  std::vector<ArchivedSample> samples;
  for (const ArchiveMember& member : members) {
    const size_t folder = member.name.rfind('/') + 1, dot = member.name.find('.', folder);
    if (is_no_sample(member.name.substr(folder)) || dot == std::string::npos) {
      ++skipped;
      continue;
    }
    const std::string key = member.name.substr(0, dot), ending = lower_case(member.name.substr(dot + 1));
    if (samples.empty() || samples.back().key != key || samples.back().endings.contains(ending))
      samples.push_back({.key = key});
    add(samples.back(), member, ending);
  }
  return samples;
}

/// Joins samples of a key, for archives with all images before all classes; unless an ending occurs twice, because then
/// it is unknown which members belong together.
std::vector<ArchivedSample> joined_by_key(std::vector<ArchivedSample> parts) {
  std::map<std::string, std::multiset<std::string>> endings;
  for (const ArchivedSample& part : parts) endings[part.key].insert(part.endings.begin(), part.endings.end());
  const auto is_joined = [&](const std::string& key) {
    const std::multiset<std::string>& all = endings.at(key);
    return std::ranges::adjacent_find(all) == all.end();
  };
  std::map<std::string, size_t> places;
  std::vector<ArchivedSample> samples;
  for (ArchivedSample& part : parts) {
    const auto [at, fresh] = places.try_emplace(part.key, samples.size());
    if (fresh || !is_joined(part.key)) {
      samples.push_back(std::move(part));
      continue;
    }
    ArchivedSample& sample = samples[at->second];
    if (part.label) sample.label = part.label;
    sample.images.insert(sample.images.end(), part.images.begin(), part.images.end());
  }
  return samples;
}

/// Returns what is wrong with the sample, or "".
std::string fault_of(const ArchivedSample& sample) {
  if (sample.images.empty()) return "has no image (.jpg, .png, ...)";
  if (!sample.label) return "has no class (.cls)";
  if (sample.label->size > kMaxOfLabel) return "has a class (.cls) of " + std::to_string(sample.label->size) + " bytes";
  if (sample.images.size() == 1) return "";
  return "has " + std::to_string(sample.images.size()) + " images: " + printable(sample.images[0].name) + " and " +
         printable(sample.images[1].name);
}

/// Adds the samples of one shard.
void collect(const std::string& shard, const std::shared_ptr<Archives>& archives, FoundImages& found,
             std::vector<std::string>& labels) {
  for (const ArchivedSample& sample : joined_by_key(samples_in(archives->list(shard), found.skipped))) {
    if (const std::string fault = fault_of(sample); !fault.empty()) {
      found.bad_lines.push_back({shard, 0, "sample '" + printable(sample.key) + "' " + fault});
      continue;
    }
    const ArchiveMember& image = sample.images[0];
    labels.push_back(trimmed(archives->read(shard, *sample.label)));
    found.entries.push_back({.file = shard,
                             .name = printable(image.name),
                             .archived = std::make_shared<const ArchivedImage>(ArchivedImage{archives, image})});
  }
}

}  // namespace

ConvertReport convert_tar(const TarOptions& options) {
  check_image_options(options);
  FoundImages found;
  std::vector<std::string> labels;
  const auto archives = std::make_shared<Archives>();
  for (const std::string& shard : options.shards) collect(shard, archives, found, labels);
  const std::vector<int32_t> numbers = class_numbers(labels, found.classes);
  for (size_t i = 0; i < numbers.size(); ++i) found.entries[i].label = numbers[i];
  return convert_images(std::move(found), options);
}

}  // namespace cortado::data
