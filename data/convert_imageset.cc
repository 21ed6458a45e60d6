#include <charconv>

#include "core/error.h"
#include "core/file.h"
#include "data/convert_images.h"

namespace cortado::data {

namespace {

/// The label behind the last space or tab: a whole 32-bit number and nothing else. Returns what is wrong, or "".
std::string parse_line(std::string_view line, ImageEntry& entry) {
  const size_t space = line.find_last_of(" \t");
  if (space == std::string_view::npos || space == 0) return "no label: a line is a path, a space and a number";
  const std::string_view label = line.substr(space + 1);
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), entry.label);
  if (error != std::errc() || end != label.data() + label.size())
    return "the label '" + std::string(label.substr(0, 40)) + "' is not a whole number";
  entry.name = line.substr(0, space);
  return "";
}

}  // namespace

ConvertReport convert_imageset(const ImagesetOptions& options) {
  check_image_options(options);
  const std::string list = read_file(options.list, int64_t(1) << 32);
  std::vector<ImageEntry> entries;
  std::vector<Rejected> bad;
  int64_t number = 0;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find('\n', begin), list.size());
    std::string_view line = std::string_view(list).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (line.empty()) continue;
    ImageEntry entry;
    entry.line = number;
    const std::string wrong = parse_line(line, entry);
    entry.file = options.root + entry.name;
    if (wrong.empty())
      entries.push_back(std::move(entry));
    else
      bad.push_back({options.list, number, wrong});
  }
  DatasetBuilder builder(options, int64_t(entries.size() + bad.size()));
  for (const Rejected& line : bad) builder.reject(line.file, line.line, line.reason);
  add_images(std::move(entries), options.list, options, builder);
  return builder.finish();
}

}  // namespace cortado::data
