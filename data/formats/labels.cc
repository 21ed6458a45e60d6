#include "data/formats/labels.h"

#include <set>

#include "core/error.h"
#include "core/files/file.h"
#include "data/formats/text.h"
#include "proto/files/read_text.h"

namespace cortado::data {

std::vector<std::string> read_labels(const std::string& path) {
  const std::string content = read_file_or_pipe(path, 64 << 20);
  const auto fail = [&](const std::string& what) {
    throw file_error(ExitCode::kData, path, what, "use a file with the name of one class on each line");
  };
  if (content.find('\0') != std::string::npos) fail("this is not a text file");
  const std::string_view text = without_bom(content);
  std::vector<std::string> names;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const bool windows = end > begin && text[end - 1] == '\r';
    names.emplace_back(text.substr(begin, end - begin - (windows ? 1 : 0)));
    begin = end + 1;
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  if (names.empty()) fail("it has no labels");
  return names;
}

std::string labels_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (name.empty() || name.back() == '\r' || name.find_first_of(std::string_view("\n\0", 2)) != std::string::npos)
      throw Error(ExitCode::kData, "the class name '" + printable(name) + "' cannot be a line of a file",
                  "rename the class: use a name that is not empty and has no line breaks");
    text += name + "\n";
  }
  return text;
}

namespace {

caffe::LabelMap parse_label_map(const std::string& path) {
  caffe::LabelMap map;
  read_message_from_text(read_file(path, int64_t(1) << 26), path, map);
  return map;
}

}  // namespace

PixelClasses read_pixel_classes(const std::string& path) {
  PixelClasses classes;
  classes.of.fill(-1);
  const caffe::LabelMap map = parse_label_map(path);
  for (const caffe::LabelMapItem& item : map.item()) {
    if (!item.has_label_id()) continue;
    const int value = item.label_id(), label = item.label();
    if (label < 0 || label == 255 || value < 0) continue;  // Cityscapes: void
    if (value > 255 || label >= kMaxPixelClasses)
      throw file_error(ExitCode::kData, path,
                       "the class '" + printable(item.name()) + "' has the label_id " + std::to_string(value) +
                           " and the label " + std::to_string(label) + ", but both must be at most 255");
    classes.of[size_t(value)] = label;
    classes.count = std::max(classes.count, label + 1);
  }
  return classes;
}

caffe::LabelMap read_label_map(const std::string& path) {
  const caffe::LabelMap map = parse_label_map(path);
  std::set<std::string> names;
  std::set<int32_t> labels;
  for (const caffe::LabelMapItem& item : map.item()) {
    if (!names.insert(item.name()).second)
      throw file_error(ExitCode::kData, path, "two classes have the name '" + printable(item.name()) + "'");
    if (!labels.insert(item.label()).second)
      throw file_error(ExitCode::kData, path, "two classes have the label " + std::to_string(item.label()));
  }
  return map;
}

std::map<int32_t, std::string> shown_names(const caffe::LabelMap& map) {
  std::map<int32_t, std::string> names;
  for (const caffe::LabelMapItem& item : map.item())
    names[item.label()] = item.display_name().empty() ? item.name() : item.display_name();
  return names;
}

}  // namespace cortado::data
