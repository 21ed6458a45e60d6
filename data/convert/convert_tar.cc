// Shards of WebDataset: archives in which files with the same name up to the first dot of the last path component form
// a sample. KEY.jpg is its image and KEY.cls its class.
#include <map>
#include <optional>

#include "core/error.h"
#include "core/files/file.h"
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
  std::optional<ArchiveMember> image, label;
};

/// Adds the samples of one shard; `names` keeps their order.
void collect(const std::string& shard, const std::shared_ptr<Archives>& archives, FoundImages& found,
             std::vector<std::string>& labels) {
  std::map<std::string, ArchivedSample> samples;
  std::vector<std::string> order;
  for (const ArchiveMember& member : archives->list(shard)) {
    const size_t folder = member.name.rfind('/') + 1, dot = member.name.find('.', folder);
    if (is_no_sample(member.name.substr(folder)) || dot == std::string::npos) {
      ++found.skipped;
      continue;
    }
    const std::string key = member.name.substr(0, dot), ending = member.name.substr(dot + 1);
    const auto [at, fresh] = samples.try_emplace(key);
    if (fresh) order.push_back(key);
    if (is_image_name("." + ending)) at->second.image = member;
    if (ending == "cls") at->second.label = member;
  }
  for (const std::string& key : order) {
    const ArchivedSample& sample = samples.at(key);
    if (!sample.image || !sample.label || sample.label->size > kMaxOfLabel) {
      found.bad_lines.push_back(
          {shard, 0,
           "sample '" + printable(key) + "' has no " + (sample.image ? "class (.cls)" : "image (.jpg, .png, ...)")});
      continue;
    }
    labels.push_back(trimmed(archives->read(shard, *sample.label)));
    found.entries.push_back(
        {.file = shard,
         .name = printable(sample.image->name),
         .archived = std::make_shared<const ArchivedImage>(ArchivedImage{archives, *sample.image})});
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
